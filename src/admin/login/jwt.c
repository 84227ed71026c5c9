#include "admin/login/jwt.h"

#include <errno.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdlib.h>

#include "admin/login/json_in.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/base64.h"

enum {
    RSA_LEAST = 2048,
    RSA_MOST = 8192,
    COORDINATE = 32,
    KEY_BYTES_MOST = 2048,
    SIGNATURE_MOST = 2048
};

enum jwt_alg { JWT_RS256, JWT_ES256 };

struct jwt_key {
    enum jwt_alg alg;
    char *kid; /* key id; NULL: none */
    EVP_PKEY *pkey;
};

struct jwt_keys {
    struct jwt_key keys[JWT_KEYS_MOST];
    size_t count;
};

/* ---- keys ---- */

static bool part_of(const json_t *key, const char *name, struct buf *to)
{
    struct str text = json_in_text(key, name);
    struct err err;

    return text.len > 0 && base64url_decode(text, to, &err);
}

static EVP_PKEY *jwt_make_key(const char *type, OSSL_PARAM_BLD *parts)
{
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(parts);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *made = NULL;

    if (params != NULL && ctx != NULL && EVP_PKEY_fromdata_init(ctx) > 0)
        (void)EVP_PKEY_fromdata(ctx, &made, EVP_PKEY_PUBLIC_KEY, params);
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    return made;
}

static EVP_PKEY *read_rsa(const json_t *key)
{
    AUTO(buf_done) struct buf n = BUF_INIT(KEY_BYTES_MOST), e = BUF_INIT(16);
    EVP_PKEY *made = NULL;

    if (!part_of(key, "n", &n) || !part_of(key, "e", &e))
        return NULL;
    OSSL_PARAM_BLD *parts = OSSL_PARAM_BLD_new();
    BIGNUM *modulus = BN_bin2bn((unsigned char *)n.ptr, (int)n.len, NULL);
    BIGNUM *exponent = BN_bin2bn((unsigned char *)e.ptr, (int)e.len, NULL);
    int bits = modulus != NULL ? BN_num_bits(modulus) : 0;

    if (parts != NULL && exponent != NULL && bits >= RSA_LEAST && bits <= RSA_MOST &&
        BN_is_odd(exponent) && BN_num_bits(exponent) > 1 &&
        OSSL_PARAM_BLD_push_BN(parts, OSSL_PKEY_PARAM_RSA_N, modulus) > 0 &&
        OSSL_PARAM_BLD_push_BN(parts, OSSL_PKEY_PARAM_RSA_E, exponent) > 0)
        made = jwt_make_key("RSA", parts);
    OSSL_PARAM_BLD_free(parts);
    BN_free(modulus);
    BN_free(exponent);
    return made;
}

static EVP_PKEY *read_ec(const json_t *key)
{
    AUTO(buf_done) struct buf point = BUF_INIT(1 + 2 * COORDINATE);
    EVP_PKEY *made = NULL;

    buf_putc(&point, 4); /* uncompressed point */
    if (!str_is(json_in_text(key, "crv"), "P-256") || !part_of(key, "x", &point) ||
        point.len != 1 + COORDINATE || !part_of(key, "y", &point) ||
        point.len != 1 + 2 * COORDINATE)
        return NULL;
    OSSL_PARAM_BLD *parts = OSSL_PARAM_BLD_new();

    if (parts != NULL &&
        OSSL_PARAM_BLD_push_utf8_string(parts, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) > 0 &&
        OSSL_PARAM_BLD_push_octet_string(parts, OSSL_PKEY_PARAM_PUB_KEY, point.ptr, point.len) > 0)
        made = jwt_make_key("EC", parts);
    OSSL_PARAM_BLD_free(parts);
    return made;
}

static void jwt_add_key(struct jwt_keys *k, const json_t *json)
{
    struct str kty = json_in_text(json, "kty"), use = json_in_text(json, "use"),
               alg = json_in_text(json, "alg"), kid = json_in_text(json, "kid");
    bool rsa = str_is(kty, "RSA"), ec = str_is(kty, "EC");
    struct jwt_key key = { .alg = rsa ? JWT_RS256 : JWT_ES256 };

    if (!(rsa || ec) || (use.ptr != NULL && !str_is(use, "sig")) ||
        (alg.ptr != NULL && !str_is(alg, rsa ? "RS256" : "ES256")))
        return;
    key.pkey = rsa ? read_rsa(json) : read_ec(json);
    if (key.pkey == NULL)
        return;
    key.kid = kid.ptr != NULL ? xstrndup(kid) : NULL;
    k->keys[k->count++] = key;
}

bool jwt_keys_read(struct str json, struct jwt_keys **ret, struct err *err)
{
    AUTO(json_in_drop) json_t *set = NULL;
    const json_t *key;
    size_t i;

    if (!json_in_object(json, &set, err))
        return err_context(err, "the keys of the provider");
    if (!json_is_array(json_object_get(set, "keys")))
        return err_set(err, ERR_PERMANENT, 0, "the keys of the provider: no list of keys");
    struct jwt_keys *k = NEW(struct jwt_keys);

    json_array_foreach(json_object_get(set, "keys"), i, key)
    {
        if (json_is_object(key) && k->count < JWT_KEYS_MOST)
            jwt_add_key(k, key);
    }
    *ret = k;
    return true;
}

void jwt_keys_free(struct jwt_keys *k)
{
    if (k == NULL)
        return;
    for (size_t i = 0; i < k->count; i++) {
        EVP_PKEY_free(k->keys[i].pkey);
        free(k->keys[i].kid);
    }
    free(k);
}

/* ---- signatures ---- */

static bool jwt_verify(const struct jwt_key *key, struct str text, const unsigned char *sig,
                       size_t len)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx != NULL && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key->pkey) > 0 &&
              EVP_DigestVerify(ctx, sig, len, (const unsigned char *)text.ptr, text.len) == 1;

    EVP_MD_CTX_free(ctx);
    return ok;
}

/* A JWS signature is two numbers of 32 bytes; OpenSSL wants them in DER. */
static bool verify_ec(const struct jwt_key *key, struct str text, struct str sig)
{
    const unsigned char *bytes = (const unsigned char *)sig.ptr;
    unsigned char *der = NULL;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    bool ok = false;

    if (sig.len == 2 * COORDINATE && pair != NULL) {
        BIGNUM *r = BN_bin2bn(bytes, COORDINATE, NULL);
        BIGNUM *s = BN_bin2bn(bytes + COORDINATE, COORDINATE, NULL);

        if (r != NULL && s != NULL && ECDSA_SIG_set0(pair, r, s) > 0) {
            int len = i2d_ECDSA_SIG(pair, &der);

            ok = len > 0 && jwt_verify(key, text, der, (size_t)len);
        } else {
            BN_free(r);
            BN_free(s);
        }
    }
    OPENSSL_free(der);
    ECDSA_SIG_free(pair);
    return ok;
}

static bool verify_any(const struct jwt_keys *k, enum jwt_alg alg, struct str kid, struct str text,
                       struct str sig, struct err *err)
{
    bool known = false;

    for (size_t i = 0; i < k->count; i++) {
        const struct jwt_key *key = &k->keys[i];

        if (key->alg != alg || (kid.ptr != NULL && (key->kid == NULL || !str_is(kid, key->kid))))
            continue;
        known = true;
        if (alg == JWT_RS256 ? jwt_verify(key, text, (const unsigned char *)sig.ptr, sig.len)
                             : verify_ec(key, text, sig))
            return true;
    }
    return known ? err_set(err, ERR_PERMANENT, 0, "the signature of the ID token is wrong")
                 : err_set(err, ERR_PERMANENT, ENOKEY,
                           "the ID token is signed with a key that the provider does not show");
}

static bool check_signature(const struct jwt_keys *k, struct str head, struct str signed_text,
                            struct str signature, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(JWT_MOST), sig = BUF_INIT(SIGNATURE_MOST);
    AUTO(json_in_drop) json_t *header = NULL;

    if (!base64url_decode(head, &text, err) || !json_in_object(buf_view(&text), &header, err) ||
        !base64url_decode(signature, &sig, err))
        return err_context(err, "the head of the ID token");
    struct str alg = json_in_text(header, "alg");

    if (!str_is(alg, "RS256") && !str_is(alg, "ES256"))
        return err_set(err, ERR_PERMANENT, 0, "the ID token is not signed with RS256 or ES256");
    if (json_object_get(header, "crit") != NULL)
        return err_set(err, ERR_PERMANENT, 0,
                       "the ID token has critical header parameters (crit) that are not supported");
    return verify_any(k, str_is(alg, "RS256") ? JWT_RS256 : JWT_ES256, json_in_text(header, "kid"),
                      signed_text, buf_view(&sig), err);
}

/* ---- claims ---- */

static bool is_for(const json_t *claims, struct str aud)
{
    const json_t *list = json_object_get(claims, "aud"), *one;
    struct str azp = json_in_text(claims, "azp");
    bool found = str_eq(json_in_text(claims, "aud"), aud);
    size_t i;

    json_array_foreach(list, i, one)
    {
        found = found || (json_is_string(one) &&
                          str_eq(str_mem(json_string_value(one), json_string_length(one)), aud));
    }
    if (azp.ptr != NULL && !str_eq(azp, aud))
        return false;
    return found && (json_array_size(list) <= 1 || azp.ptr != NULL);
}

static bool time_of(const json_t *claims, const char *name, double *ret)
{
    const json_t *v = json_object_get(claims, name);

    if (!json_is_number(v))
        return false;
    *ret = json_number_value(v);
    return true;
}

static bool jwt_check_times(const json_t *claims, int64_t now_s, struct err *err)
{
    double now = (double)now_s, exp, iat, nbf = 0;

    if (!time_of(claims, "exp", &exp) || now >= exp + JWT_LEEWAY_S)
        return err_set(err, ERR_PERMANENT, 0, "the ID token has expired");
    if (!time_of(claims, "iat", &iat) || iat > now + JWT_LEEWAY_S)
        return err_set(err, ERR_PERMANENT, 0, "the ID token was made in the future");
    if (json_object_get(claims, "nbf") != NULL &&
        (!time_of(claims, "nbf", &nbf) || nbf > now + JWT_LEEWAY_S))
        return err_set(err, ERR_PERMANENT, 0, "the ID token is not valid yet");
    return true;
}

static bool check_claims(const json_t *claims, const struct jwt_rules *rules, struct err *err)
{
    if (!str_eq(json_in_text(claims, "iss"), rules->iss))
        return err_set(err, ERR_PERMANENT, 0, "the ID token is of another issuer");
    if (!is_for(claims, rules->aud))
        return err_set(err, ERR_PERMANENT, 0, "the ID token is for somebody else");
    if (!jwt_check_times(claims, rules->now_s, err))
        return false;
    if (rules->nonce.len == 0 || !str_eq(json_in_text(claims, "nonce"), rules->nonce))
        return err_set(err, ERR_PERMANENT, 0, "the ID token is of another login");
    return json_in_text(claims, "sub").len > 0 ||
           err_set(err, ERR_PERMANENT, 0, "the ID token names nobody");
}

bool jwt_check(const struct jwt_keys *k, struct str token, const struct jwt_rules *rules,
               json_t **ret_claims, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(JWT_MOST);
    AUTO(json_in_drop) json_t *claims = NULL;
    struct str head, body, rest = str_cut(token, '.', &head), signature = str_cut(rest, '.', &body);

    if (token.len > JWT_MOST || body.len == 0 || str_find(signature, '.') >= 0)
        return err_set(err, ERR_PERMANENT, 0, "what the provider gave is no ID token");
    if (signature.len == 0)
        return err_set(err, ERR_PERMANENT, 0, "the ID token is not signed");
    if (!check_signature(k, head, str_mem(token.ptr, head.len + 1 + body.len), signature, err))
        return false;
    if (!base64url_decode(body, &text, err) || !json_in_object(buf_view(&text), &claims, err))
        return err_context(err, "the claims of the ID token");
    if (!check_claims(claims, rules, err))
        return false;
    *ret_claims = json_incref(claims);
    return true;
}
