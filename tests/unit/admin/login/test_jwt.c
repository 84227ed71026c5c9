/* ID tokens: what is taken, and every way in which one is not. */
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "admin/login/jwt.h"
#include "base/auto.h"
#include "base/base64.h"
#include "test.h"

enum { NOW = 1800000000 };

static const struct jwt_rules rules = { .iss = { "https://op.example", 18 },
                                        .aud = { "waybill", 7 },
                                        .nonce = { "n-1", 3 },
                                        .now_s = NOW };

static const char claims_good[] =
    "{\"iss\":\"https://op.example\",\"aud\":\"waybill\",\"sub\":\"a\","
    "\"nonce\":\"n-1\",\"iat\":1799999990,\"exp\":1800000300}";

/* ---- a provider ---- */

static EVP_PKEY *rsa, *rsa_other, *ec;

static void make_keys(void)
{
    if (rsa != NULL)
        return;
    rsa = EVP_RSA_gen(2048);
    rsa_other = EVP_RSA_gen(2048);
    ec = EVP_EC_gen("prime256v1");
}

static void put_number(struct buf *to, EVP_PKEY *key, const char *name, int size)
{
    unsigned char bytes[1024];
    BIGNUM *n = NULL;
    struct err err;

    (void)EVP_PKEY_get_bn_param(key, name, &n);
    int len = size > 0 ? BN_bn2binpad(n, bytes, size) : BN_bn2bin(n, bytes);

    BN_free(n);
    if (!base64url_encode(str_mem(bytes, (size_t)len), to, &err))
        buf_puts(to, "?");
}

static void put_jwk(struct buf *to, EVP_PKEY *key, const char *more)
{
    bool is_ec = EVP_PKEY_is_a(key, "EC") == 1;

    buf_printf(to, "{\"kty\":\"%s\",%s\"", is_ec ? "EC" : "RSA", more);
    if (is_ec) {
        buf_puts(to, "crv\":\"P-256\",\"x\":\"");
        put_number(to, key, OSSL_PKEY_PARAM_EC_PUB_X, 32);
        buf_puts(to, "\",\"y\":\"");
        put_number(to, key, OSSL_PKEY_PARAM_EC_PUB_Y, 32);
    } else {
        buf_puts(to, "n\":\"");
        put_number(to, key, OSSL_PKEY_PARAM_RSA_N, 0);
        buf_puts(to, "\",\"e\":\"");
        put_number(to, key, OSSL_PKEY_PARAM_RSA_E, 0);
    }
    buf_puts(to, "\"}");
}

static struct jwt_keys *read_set(const char *set)
{
    struct jwt_keys *k = NULL;
    struct err err = { 0 };

    return jwt_keys_read(str_of(set), &k, &err) ? k : NULL;
}

/* kid r: RSA; kid e: EC. */
static struct jwt_keys *usual_keys(void)
{
    AUTO(buf_done) struct buf set = BUF_INIT(64 << 10);

    make_keys();
    buf_puts(&set, "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"},");
    put_jwk(&set, rsa, "\"kid\":\"r\",\"use\":\"sig\",\"alg\":\"RS256\",");
    buf_putc(&set, ',');
    put_jwk(&set, ec, "\"kid\":\"e\",");
    buf_putc(&set, ',');
    put_jwk(&set, rsa_other, "\"kid\":\"x\",\"use\":\"enc\",");
    buf_puts(&set, "]}");
    return read_set(set.ptr);
}

static void keys_drop(struct jwt_keys **k)
{
    jwt_keys_free(*k);
}

static void put_part(struct buf *to, const char *text)
{
    struct err err;

    if (!base64url_encode(str_of(text), to, &err))
        buf_puts(to, "?");
}

static void put_signature(struct buf *to, EVP_PKEY *key)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char sig[1024], raw[64];
    size_t len = sizeof sig;
    struct str bytes;
    struct err err;

    (void)EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key);
    (void)EVP_DigestSign(ctx, sig, &len, (unsigned char *)to->ptr, to->len);
    EVP_MD_CTX_free(ctx);
    bytes = str_mem(sig, len);
    if (EVP_PKEY_is_a(key, "EC") == 1) {
        const unsigned char *at = sig;
        ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)len);

        (void)BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, 32);
        (void)BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + 32, 32);
        ECDSA_SIG_free(pair);
        bytes = str_mem(raw, sizeof raw);
    }
    buf_putc(to, '.');
    if (!base64url_encode(bytes, to, &err))
        buf_puts(to, "?");
}

static void make_token(struct buf *to, const char *head, const char *claims, EVP_PKEY *key)
{
    put_part(to, head);
    buf_putc(to, '.');
    put_part(to, claims);
    if (key != NULL)
        put_signature(to, key);
}

static bool takes(const struct jwt_keys *k, struct str token, struct err *err)
{
    json_t *claims = NULL;
    bool ok = jwt_check(k, token, &rules, &claims, err);

    json_decref(claims);
    return ok;
}

/* ---- tests ---- */

TEST(jwt_takes_what_the_provider_signed)
{
    static const struct {
        const char *head;
        EVP_PKEY **key;
    } cases[] = {
        { "{\"alg\":\"RS256\",\"kid\":\"r\",\"typ\":\"JWT\"}", &rsa },
        { "{\"alg\":\"ES256\",\"kid\":\"e\"}", &ec },
        { "{\"alg\":\"RS256\"}", &rsa },
        { "{\"alg\":\"ES256\"}", &ec },
    };
    AUTO(keys_drop) struct jwt_keys *k = usual_keys();

    CHECK(k != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf token = BUF_INIT(64 << 10);
        struct err err = { 0 };
        json_t *claims = NULL;

        make_token(&token, cases[i].head, claims_good, *cases[i].key);
        CHECK(jwt_check(k, buf_view(&token), &rules, &claims, &err));
        CHECK(str_is(str_of(json_string_value(json_object_get(claims, "sub"))), "a"));
        json_decref(claims);
    }
}

TEST(jwt_refuses_other_signatures)
{
    static const struct {
        const char *what, *head;
        EVP_PKEY **key;
        int sys;
    } cases[] = {
        { "another key", "{\"alg\":\"RS256\",\"kid\":\"r\"}", &rsa_other, 0 },
        { "a key for encryption", "{\"alg\":\"RS256\",\"kid\":\"x\"}", &rsa_other, ENOKEY },
        { "a key that is not shown", "{\"alg\":\"RS256\",\"kid\":\"q\"}", &rsa, ENOKEY },
        { "the other kind of key", "{\"alg\":\"ES256\",\"kid\":\"r\"}", &rsa, ENOKEY },
        { "none", "{\"alg\":\"none\",\"kid\":\"r\"}", &rsa, 0 },
        { "None", "{\"alg\":\"None\"}", &rsa, 0 },
        { "another hash", "{\"alg\":\"RS512\",\"kid\":\"r\"}", &rsa, 0 },
        { "padding of another kind", "{\"alg\":\"PS256\",\"kid\":\"r\"}", &rsa, 0 },
        { "no algorithm", "{\"kid\":\"r\"}", &rsa, 0 },
        { "an extension", "{\"alg\":\"RS256\",\"kid\":\"r\",\"crit\":[\"b64\"]}", &rsa, 0 },
        { "a list", "[]", &rsa, 0 },
        { "twice", "{\"alg\":\"RS256\",\"alg\":\"RS256\",\"kid\":\"r\"}", &rsa, 0 },
    };
    AUTO(keys_drop) struct jwt_keys *k = usual_keys();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf token = BUF_INIT(64 << 10);
        struct err err = { 0 };

        make_token(&token, cases[i].head, claims_good, *cases[i].key);
        if (takes(k, buf_view(&token), &err) || err.kind != ERR_PERMANENT ||
            err.sys != cases[i].sys)
            printf("# %s: %s\n", cases[i].what, err.text);
        CHECK(err.kind == ERR_PERMANENT && err.sys == cases[i].sys);
    }
}

/* The public key is no secret: whoever signs an HMAC with it proves nothing. */
TEST(jwt_refuses_an_hmac_with_the_public_key)
{
    AUTO(keys_drop) struct jwt_keys *k = usual_keys();
    AUTO(buf_done) struct buf token = BUF_INIT(64 << 10);
    unsigned char mac[32];
    unsigned len = sizeof mac;
    struct err err = { 0 };
    BIO *pem = BIO_new(BIO_s_mem());
    char *text;

    (void)PEM_write_bio_PUBKEY(pem, rsa);
    long size = BIO_get_mem_data(pem, &text);

    make_token(&token, "{\"alg\":\"HS256\",\"kid\":\"r\"}", claims_good, NULL);
    (void)HMAC(EVP_sha256(), text, (int)size, (unsigned char *)token.ptr, token.len, mac, &len);
    BIO_free(pem);
    buf_putc(&token, '.');
    CHECK(base64url_encode(str_mem(mac, len), &token, &err));
    CHECK(!takes(k, buf_view(&token), &err) && err.kind == ERR_PERMANENT);
}

TEST(jwt_refuses_other_claims)
{
#define ALL(iss, aud, nonce, times) \
    "{\"sub\":\"a\",\"iss\":" iss ",\"aud\":" aud ",\"nonce\":" nonce "," times "}"
#define ISS   "\"https://op.example\""
#define AUD   "\"waybill\""
#define NONCE "\"n-1\""
#define TIMES "\"iat\":1799999990,\"exp\":1800000300"
    static const struct {
        const char *claims;
        bool ok;
    } cases[] = {
        { ALL(ISS, AUD, NONCE, TIMES), true },
        { ALL(ISS, "[\"waybill\"]", NONCE, TIMES), true },
        { ALL(ISS, "[\"other\",\"waybill\"]", NONCE, TIMES ",\"azp\":\"waybill\""), true },
        { ALL(ISS, "[\"other\",\"waybill\"]", NONCE, TIMES), false },
        { ALL(ISS, AUD, NONCE, TIMES ",\"azp\":\"other\""), false },
        { ALL(ISS, "\"other\"", NONCE, TIMES), false },
        { ALL(ISS, "[]", NONCE, TIMES), false },
        { ALL(ISS, "7", NONCE, TIMES), false },
        { ALL("\"https://op.example/\"", AUD, NONCE, TIMES), false },
        { ALL("\"https://evil.example\"", AUD, NONCE, TIMES), false },
        { ALL("null", AUD, NONCE, TIMES), false },
        { ALL(ISS, AUD, "\"n-2\"", TIMES), false },
        { ALL(ISS, AUD, "null", TIMES), false },
        { ALL(ISS, AUD, NONCE, "\"iat\":1799990000,\"exp\":1799999941"), true },
        { ALL(ISS, AUD, NONCE, "\"iat\":1799990000,\"exp\":1799999940"), false },
        { ALL(ISS, AUD, NONCE, "\"iat\":1799990000,\"exp\":1"), false },
        { ALL(ISS, AUD, NONCE, "\"iat\":1799990000,\"exp\":\"1800000300\""), false },
        { ALL(ISS, AUD, NONCE, "\"iat\":1799990000"), false },
        { ALL(ISS, AUD, NONCE, "\"iat\":1800000060,\"exp\":1800000300"), true },
        { ALL(ISS, AUD, NONCE, "\"iat\":1800000061,\"exp\":1800000300"), false },
        { ALL(ISS, AUD, NONCE, "\"exp\":1800000300"), false },
        { ALL(ISS, AUD, NONCE, TIMES ",\"nbf\":1800000060"), true },
        { ALL(ISS, AUD, NONCE, TIMES ",\"nbf\":1800000061"), false },
        { ALL(ISS, AUD, NONCE, TIMES ",\"nbf\":\"x\""), false },
        { "{\"iss\":" ISS ",\"aud\":" AUD ",\"nonce\":" NONCE "," TIMES "}", false },
        { "{\"sub\":\"\",\"iss\":" ISS ",\"aud\":" AUD ",\"nonce\":" NONCE "," TIMES "}", false },
        { "{\"sub\":7,\"iss\":" ISS ",\"aud\":" AUD ",\"nonce\":" NONCE "," TIMES "}", false },
        { "[]", false },
        { "x", false },
    };
    AUTO(keys_drop) struct jwt_keys *k = usual_keys();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf token = BUF_INIT(64 << 10);
        struct err err = { 0 };

        make_token(&token, "{\"alg\":\"ES256\",\"kid\":\"e\"}", cases[i].claims, ec);
        bool ok = takes(k, buf_view(&token), &err);

        if (ok != cases[i].ok)
            printf("# %s: %s\n", cases[i].claims, err.text);
        CHECK(ok == cases[i].ok && (ok || err.kind == ERR_PERMANENT));
    }
}

/* proves: S11 */
TEST(jwt_refuses_any_other_bytes)
{
    AUTO(keys_drop) struct jwt_keys *k = usual_keys();
    AUTO(buf_done) struct buf token = BUF_INIT(64 << 10);
    static const char *const others[] = { "",        ".",    "..",       "a.b",
                                          "a.b.c.d", "....", "e30.e30.", "e30..e30" };

    make_token(&token, "{\"alg\":\"ES256\",\"kid\":\"e\"}", claims_good, ec);
    for (size_t i = 0; i < token.len; i++) {
        struct err err = { 0 };
        char was = token.ptr[i];

        token.ptr[i] = was == 'A' ? 'B' : 'A';
        CHECK(!takes(k, buf_view(&token), &err) && err.kind == ERR_PERMANENT);
        token.ptr[i] = was;
    }
    for (size_t len = 0; len < token.len; len++) {
        struct err err = { 0 };

        CHECK(!takes(k, str_mem(token.ptr, len), &err));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct err err = { 0 };

        CHECK(!takes(k, str_of(others[i]), &err));
    }
}

TEST(jwt_leaves_weak_and_odd_keys_out)
{
    AUTO(buf_done) struct buf set = BUF_INIT(64 << 10);
    EVP_PKEY *weak = EVP_RSA_gen(1024);

    make_keys();
    buf_puts(&set,
             "{\"keys\":[7,\"x\",{},{\"kty\":\"RSA\"},{\"kty\":\"RSA\",\"n\":\"!\",\"e\":\"AQAB\"},"
             "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"},"
             "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"AA\",\"y\":\"AA\"},");
    put_jwk(&set, weak, "\"kid\":\"w\",");
    buf_putc(&set, ',');
    put_jwk(&set, rsa, "\"alg\":\"RS512\",");
    buf_puts(&set, ",{\"kty\":\"EC\",\"crv\":\"P-256\","
                   "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\","
                   "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}]}");
    EVP_PKEY_free(weak);
    AUTO(keys_drop) struct jwt_keys *k = read_set(set.ptr);

    AUTO(buf_done) struct buf token = BUF_INIT(64 << 10);
    struct err err = { 0 };
    json_t *claims = NULL;

    make_token(&token, "{\"alg\":\"RS256\"}", claims_good, rsa);
    CHECK(k != NULL && !jwt_check(k, buf_view(&token), &rules, &claims, &err));
    CHECK(read_set("") == NULL && read_set("[]") == NULL && read_set("{}") == NULL);
    CHECK(read_set("{\"keys\":{}}") == NULL);
}

TEST(jwt_base64_is_one_to_one)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = { { "", "" },        { "f", "Zg" },        { "fo", "Zm8" },
                  { "foo", "Zm9v" }, { "foob", "Zm9vYg" }, { "\xfb\xff", "-_8" } };
    static const char *const wrong[] = { "A", "Zh", "Zm9", "Zm9v=", "Zm9v+", "Zm9v/", "Zm 9" };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf to = BUF_INIT(100), back = BUF_INIT(100);
        struct err err = { 0 };

        CHECK(base64url_encode(str_of(cases[i].bytes), &to, &err));
        CHECK(str_is(buf_view(&to), cases[i].text));
        CHECK(base64url_decode(buf_view(&to), &back, &err));
        CHECK(str_is(buf_view(&back), cases[i].bytes));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        AUTO(buf_done) struct buf to = BUF_INIT(100);
        struct err err = { 0 };

        CHECK(!base64url_decode(str_of(wrong[i]), &to, &err) && err.kind == ERR_PERMANENT);
    }
}

int main(void)
{
    int bad = test_main();

    EVP_PKEY_free(rsa);
    EVP_PKEY_free(rsa_other);
    EVP_PKEY_free(ec);
    return bad;
}
