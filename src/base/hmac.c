#include "base/hmac.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>

#include "base/require.h"

/* Fetched once: fetching an algorithm is slow in OpenSSL 3. */
static EVP_MAC *hmac_of_openssl(void)
{
    static EVP_MAC *mac;
    EVP_MAC *have = __atomic_load_n(&mac, __ATOMIC_ACQUIRE);

    if (have == NULL) {
        EVP_MAC *none = NULL;

        have = EVP_MAC_fetch(NULL, "HMAC", NULL);
        require(have != NULL);
        if (!__atomic_compare_exchange_n(&mac, &none, have, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE)) {
            EVP_MAC_free(have);
            have = none;
        }
    }
    return have;
}

size_t hmac_size(enum hmac_kind kind)
{
    return kind == HMAC_SHA512 ? 64 : 32;
}

struct hmac hmac_start(enum hmac_kind kind, struct str key)
{
    char sha256[] = "SHA256", sha512[] = "SHA512";
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(hmac_of_openssl());
    OSSL_PARAM params[] = { OSSL_PARAM_construct_utf8_string(
                                OSSL_MAC_PARAM_DIGEST, kind == HMAC_SHA512 ? sha512 : sha256, 0),
                            OSSL_PARAM_construct_end() };

    require(ctx != NULL && key.len > 0 &&
            EVP_MAC_init(ctx, (const unsigned char *)key.ptr, key.len, params) == 1);
    return (struct hmac){ .state = ctx };
}

void hmac_add(struct hmac *h, struct str bytes)
{
    require(h->state != NULL &&
            EVP_MAC_update(h->state, (const unsigned char *)bytes.ptr, bytes.len) == 1);
}

struct hmac_value hmac_end(struct hmac *h)
{
    struct hmac_value v = { .size = 0 };

    require(h->state != NULL && EVP_MAC_final(h->state, v.bytes, &v.size, sizeof v.bytes) == 1);
    hmac_drop(h);
    return v;
}

void hmac_drop(struct hmac *h)
{
    EVP_MAC_CTX_free(h->state);
    h->state = NULL;
}

bool hmac_same(const struct hmac_value *a, const struct hmac_value *b)
{
    return a->size == b->size && CRYPTO_memcmp(a->bytes, b->bytes, a->size) == 0;
}

void hmac_sha256(struct str key, struct str bytes, uint8_t out[static SHA256_SIZE])
{
    struct hmac h = hmac_start(HMAC_SHA256, key);

    hmac_add(&h, bytes);
    struct hmac_value v = hmac_end(&h);

    memcpy(out, v.bytes, SHA256_SIZE);
}
