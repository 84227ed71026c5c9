#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>

#include "http_fixture.h"

#define H "Host: a\r\n"

static char cert_path[] = "/tmp/test_tls_cert_XXXXXX", key_path[] = "/tmp/test_tls_key_XXXXXX";

/* A self-signed certificate of that name into the two files. */
static bool write_certificate(const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    FILE *cert_file = fopen(cert_path, "w"), *key_file = fopen(key_path, "w");
    X509_NAME *subject = X509_get_subject_name(x);
    bool ok = key != NULL && cert_file != NULL && key_file != NULL &&
              ASN1_INTEGER_set(X509_get_serialNumber(x), 1) == 1 &&
              X509_gmtime_adj(X509_getm_notBefore(x), -60) != NULL &&
              X509_gmtime_adj(X509_getm_notAfter(x), 3600) != NULL &&
              X509_set_pubkey(x, key) == 1 &&
              X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name,
                                         -1, -1, 0) == 1 &&
              X509_set_issuer_name(x, subject) == 1 && X509_sign(x, key, EVP_sha256()) > 0 &&
              PEM_write_X509(cert_file, x) == 1 &&
              PEM_write_PrivateKey(key_file, key, NULL, NULL, 0, NULL, NULL) == 1;

    if (cert_file != NULL)
        (void)fclose(cert_file);
    if (key_file != NULL)
        (void)fclose(key_file);
    X509_free(x);
    EVP_PKEY_free(key);
    return ok;
}

struct tls_client {
    SSL_CTX *ctx;
    SSL *ssl;
    int fd;
};

static bool tls_client_open(struct tls_client *t, uint16_t port, int version)
{
    struct client c = client_open(port);

    t->fd = c.fd;
    t->ctx = SSL_CTX_new(TLS_client_method());
    (void)SSL_CTX_set_min_proto_version(t->ctx, version);
    (void)SSL_CTX_set_max_proto_version(t->ctx, version);
    SSL_CTX_set_security_level(t->ctx, 0); /* so that an old version may be tried */
    t->ssl = SSL_new(t->ctx);
    (void)SSL_set_fd(t->ssl, t->fd);
    return SSL_connect(t->ssl) == 1;
}

static void tls_client_done(struct tls_client *t)
{
    SSL_free(t->ssl);
    SSL_CTX_free(t->ctx);
    (void)close(t->fd);
}

static bool tls_client_say(struct tls_client *t, struct str bytes)
{
    size_t n;

    return SSL_write_ex(t->ssl, bytes.ptr, bytes.len, &n) == 1 && n == bytes.len;
}

/* Read until `end` was seen; the number of bytes read, 0 on failure. */
static size_t tls_client_until(struct tls_client *t, const char *end)
{
    char tail[20000];
    size_t have = 0, all = 0, n, m = strlen(end);

    for (;;) {
        if (SSL_read_ex(t->ssl, tail + have, sizeof tail - have, &n) != 1)
            return 0;
        all += n;
        have += n;
        if (memmem(tail, have, end, m) != NULL)
            return all;
        if (have > m) {
            memmove(tail, tail + have - m, m);
            have = m;
        }
    }
}

static bool subject_is(const struct tls_client *t, const char *name)
{
    X509 *x = SSL_get1_peer_certificate(t->ssl);
    char got[100] = "";

    if (x != NULL)
        (void)X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, got, sizeof got);
    X509_free(x);
    return strcmp(got, name) == 0;
}

TEST(requests_over_tls)
{
    static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
    struct http_limits l = HTTP_LIMITS_DEFAULT;
    struct tls_context *tls;
    struct err err = { 0 };
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(tls_context_open(cert_path, key_path, &tls, &err));
    CHECK(fx_start(&f, 2, &l, tls));
    for (size_t v = 0; v < 2; v++) {
        struct tls_client t;
        AUTO(buf_done) struct buf big = BUF_INIT(1 << 20);

        CHECK(tls_client_open(&t, f.port, versions[v]));
        CHECK(subject_is(&t, "one"));
        for (int i = 0; i < 3; i++) {
            CHECK(tls_client_say(
                &t, STR("POST /echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello")));
            CHECK(tls_client_until(&t, "\r\n\r\nhello") > 0);
        }
        CHECK(tls_client_say(
            &t, STR("GET /fields HTTP/1.1\r\n" H "\r\nGET /bare HTTP/1.1\r\n" H "\r\n")));
        CHECK(tls_client_until(&t, "204 No Content") > 0);
        buf_puts(&big, "POST /echo HTTP/1.1\r\n" H "Content-Length: 300007\r\n\r\n");
        for (int i = 0; i < 300000; i++)
            buf_putc(&big, 'x');
        buf_puts(&big, "the end");
        CHECK(tls_client_say(&t, buf_view(&big)));
        CHECK(tls_client_until(&t, "the end") > 300000);
        CHECK(tls_client_say(&t, STR("GET /stream HTTP/1.1\r\n" H "\r\n")));
        CHECK(tls_client_until(&t, "\r\n0\r\n\r\n") > STREAM_BYTES);
        CHECK(tls_client_say(&t, STR("GET /echo HTTP/1.1\r\n" H "Connection: close\r\n\r\n")));
        CHECK(tls_client_until(&t, "Connection: close") > 0);
        CHECK(tls_client_until(&t, "nothing") == 0);
        CHECK((SSL_get_shutdown(t.ssl) & SSL_RECEIVED_SHUTDOWN) != 0);
        tls_client_done(&t);
    }
    fx_stop(&f, 1000);
    tls_context_close(tls);
    CHECK(atomic_load(&fx_gones) == 0 && atomic_load(&fx_live) == 0);
}

TEST(bytes_one_by_one_and_bad_handshakes)
{
    struct http_limits l = HTTP_LIMITS_DEFAULT;
    struct tls_context *tls;
    struct tls_client t;
    struct err err = { 0 };
    AUTO(fx_done) struct fx f = { 0 };
    const char *ask = "POST /echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello";

    l.handshake_ms = 200;
    l.tick_ms = 20;
    CHECK(tls_context_open(cert_path, key_path, &tls, &err));
    CHECK(fx_start(&f, 1, &l, tls));
    CHECK(tls_client_open(&t, f.port, TLS1_3_VERSION));
    for (const char *p = ask; *p != '\0'; p++)
        CHECK(tls_client_say(&t, str_mem(p, 1)));
    CHECK(tls_client_until(&t, "\r\n\r\nhello") > 0);
    tls_client_done(&t);

    CHECK(!tls_client_open(&t, f.port, TLS1_1_VERSION));
    tls_client_done(&t);
    AUTO(client_done) struct client plain = client_open(f.port);
    AUTO(client_done) struct client silent = client_open(f.port);

    CHECK(client_say(&plain, "GET / HTTP/1.1\r\n" H "\r\n"));
    (void)client_read(&plain, false);
    CHECK(plain.closed && plain.status == 0);
    CHECK(client_ended(&silent)); /* by the handshake's time limit */
    CHECK(fx_refused(&f, HTTP_REFUSED_HANDSHAKE) == 3);
    fx_stop(&f, 1000);
    tls_context_close(tls);
    CHECK(atomic_load(&fx_heads) == 1);
}

TEST(a_reload_serves_the_new_certificate_to_new_clients)
{
    struct http_limits l = HTTP_LIMITS_DEFAULT;
    struct tls_context *tls;
    struct tls_client old, fresh;
    struct err err = { 0 };
    AUTO(fx_done) struct fx f = { 0 };

    CHECK(tls_context_open(cert_path, key_path, &tls, &err));
    CHECK(fx_start(&f, 1, &l, tls));
    CHECK(tls_client_open(&old, f.port, TLS1_3_VERSION) && subject_is(&old, "one"));
    CHECK(write_certificate("two"));
    CHECK(tls_context_reload(tls, cert_path, key_path, &err));
    CHECK(tls_client_open(&fresh, f.port, TLS1_3_VERSION) && subject_is(&fresh, "two"));
    CHECK(tls_client_say(&old, STR("GET /bare HTTP/1.1\r\n" H "\r\n")));
    CHECK(tls_client_until(&old, "204 No Content") > 0);
    tls_client_done(&fresh);

    /* A broken file changes nothing. */
    FILE *broken = fopen(cert_path, "w");

    CHECK(broken != NULL && fputs("nonsense", broken) >= 0 && fclose(broken) == 0);
    CHECK(!tls_context_reload(tls, cert_path, key_path, &err) && err.kind == ERR_CONFIG);
    CHECK(tls_client_open(&fresh, f.port, TLS1_2_VERSION) && subject_is(&fresh, "two"));
    tls_client_done(&fresh);
    tls_client_done(&old);
    fx_stop(&f, 1000);
    tls_context_close(tls);
    tls_context_close(NULL);
    CHECK(!tls_context_open("/no/such/file", key_path, &tls, &err) && err.kind == ERR_CONFIG);
    CHECK(write_certificate("one"));
    CHECK(!tls_context_open(cert_path, "/no/such/file", &tls, &err));
}

static bool update_keys(struct tls_client *t)
{
    return SSL_key_update(t->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
           SSL_do_handshake(t->ssl) == 1;
}

static bool is_over(struct tls_client *t, int wait_ms)
{
    struct pollfd p = { .fd = t->fd, .events = POLLIN };

    return poll(&p, 1, wait_ms) == 1;
}

/* A client that changes its keys and asks nothing is idle. */
TEST(key_updates_keep_no_connection_alive)
{
    struct http_limits l = HTTP_LIMITS_DEFAULT;
    struct tls_context *tls;
    struct err err = { 0 };
    AUTO(fx_done) struct fx f = { 0 };
    struct tls_client t;
    int updates = 0;

    l.idle_ms = 300;
    l.tick_ms = 20;
    CHECK(tls_context_open(cert_path, key_path, &tls, &err));
    CHECK(fx_start(&f, 1, &l, tls));
    CHECK(tls_client_open(&t, f.port, TLS1_3_VERSION));
    CHECK(tls_client_say(&t, STR("GET /bare HTTP/1.1\r\n" H "\r\n")));
    CHECK(tls_client_until(&t, "204 No Content") > 0);
    (void)signal(SIGPIPE, SIG_IGN);
    while (updates < TLS_KEY_UPDATES_MOST && update_keys(&t)) {
        updates++;
        if (is_over(&t, 100))
            break;
    }
    CHECK(updates < TLS_KEY_UPDATES_MOST); /* they would have lasted ten times as long */
    CHECK(fx_refused(&f, HTTP_REFUSED_KEY_UPDATES) == 0);
    tls_client_done(&t);
    fx_stop(&f, 1000);
    tls_context_close(tls);
}

TEST(key_updates_are_few)
{
    struct http_limits l = HTTP_LIMITS_DEFAULT;
    struct tls_context *tls;
    struct err err = { 0 };
    AUTO(fx_done) struct fx f = { 0 };
    struct tls_client t;

    CHECK(tls_context_open(cert_path, key_path, &tls, &err));
    CHECK(fx_start(&f, 1, &l, tls));
    CHECK(tls_client_open(&t, f.port, TLS1_3_VERSION));
    (void)signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < TLS_KEY_UPDATES_MOST; i++)
        CHECK(update_keys(&t));
    CHECK(tls_client_say(&t, STR("GET /bare HTTP/1.1\r\n" H "\r\n")));
    CHECK(tls_client_until(&t, "204 No Content") > 0);
    CHECK(update_keys(&t));
    CHECK(is_over(&t, 30000));
    CHECK(fx_refused(&f, HTTP_REFUSED_KEY_UPDATES) == 1);
    tls_client_done(&t);
    fx_stop(&f, 1000);
    tls_context_close(tls);
}

int main(void)
{
    int rc = 1, a = mkstemp(cert_path), b = mkstemp(key_path);

    if (a >= 0 && b >= 0 && write_certificate("one"))
        rc = test_main();
    (void)unlink(cert_path);
    (void)unlink(key_path);
    return rc;
}
