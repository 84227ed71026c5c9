#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>

#include "base/require.h"

/* Fetched once: fetching an algorithm is slow in OpenSSL 3. */
static EVP_MD *sha256(void)
{
    static EVP_MD *md;
    EVP_MD *have = __atomic_load_n(&md, __ATOMIC_ACQUIRE);

    if (have == NULL) {
        EVP_MD *none = NULL;

        have = EVP_MD_fetch(NULL, "SHA256", NULL);
        require(have != NULL);
        if (!__atomic_compare_exchange_n(&md, &none, have, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE)) {
            EVP_MD_free(have);
            have = none;
        }
    }
    return have;
}

struct digest digest_start(void)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    require(ctx != NULL && EVP_DigestInit_ex2(ctx, sha256(), NULL) == 1);
    return (struct digest){ .state = ctx };
}

void digest_add(struct digest *d, struct str bytes)
{
    require(d->state != NULL && EVP_DigestUpdate(d->state, bytes.ptr, bytes.len) == 1);
}

struct sha256 digest_end(struct digest *d)
{
    struct sha256 out;

    require(d->state != NULL && EVP_DigestFinal_ex(d->state, out.bytes, NULL) == 1);
    digest_drop(d);
    return out;
}

void digest_drop(struct digest *d)
{
    EVP_MD_CTX_free(d->state);
    d->state = NULL;
}

static pthread_key_t of_thread;

static void free_of_thread(void *ctx)
{
    EVP_MD_CTX_free(ctx);
}

static void digest_make_key(void)
{
    require(pthread_key_create(&of_thread, free_of_thread) == 0);
}

struct sha256 digest_of(struct str bytes)
{
    static _Thread_local EVP_MD_CTX *ctx; /* of_thread frees it when the thread ends */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct sha256 out;

    if (ctx == NULL) {
        (void)pthread_once(&once, digest_make_key);
        ctx = EVP_MD_CTX_new();
        require(pthread_setspecific(of_thread, ctx) == 0);
    }
    require(ctx != NULL && EVP_DigestInit_ex2(ctx, sha256(), NULL) == 1 &&
            EVP_DigestUpdate(ctx, bytes.ptr, bytes.len) == 1 &&
            EVP_DigestFinal_ex(ctx, out.bytes, NULL) == 1);
    return out;
}

bool digest_same(const struct sha256 *a, const struct sha256 *b)
{
    return CRYPTO_memcmp(a->bytes, b->bytes, SHA256_SIZE) == 0;
}

const char *digest_text(const struct sha256 *d, char text[static SHA256_TEXT])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < SHA256_SIZE; i++) {
        text[2 * i] = digits[d->bytes[i] >> 4];
        text[2 * i + 1] = digits[d->bytes[i] & 15];
    }
    text[2 * SHA256_SIZE] = '\0';
    return text;
}

bool digest_parse(struct str text, struct sha256 *ret)
{
    struct sha256 out;

    if (text.len != 2 * SHA256_SIZE)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

        if (v < 0)
            return false;
        out.bytes[i / 2] = (uint8_t)(i % 2 == 0 ? v << 4 : out.bytes[i / 2] | v);
    }
    *ret = out;
    return true;
}
