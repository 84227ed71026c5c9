#include "base/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"

enum { TRIM_OVER = 4096 };

struct tls_context {
    pthread_mutex_t lock; /* guards ssl: taken once per connection */
    SSL_CTX *ssl;
};

struct tls_conn {
    SSL *ssl;
    BIO *in, *out; /* owned by ssl */
    unsigned key_updates;
};

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;

    (void)ssl;
    (void)arg;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof ours - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static bool tls_fail(struct err *err, const char *what, const char *path)
{
    unsigned long code = ERR_get_error();
    const char *why = code != 0 ? ERR_reason_error_string(code) : NULL;

    ERR_clear_error();
    return err_set(err, ERR_CONFIG, 0, "%s %s: %s", what, path, why != NULL ? why : "not usable");
}

static bool is_pem(const char *value)
{
    return str_starts(str_trim(str_of(value)), STR("-----BEGIN "));
}

/* The value is PEM text, not a path: first our certificate, then the chain. */
static bool use_cert_text(SSL_CTX *ssl, const char *text)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL), *next;
    bool ok = cert != NULL && SSL_CTX_use_certificate(ssl, cert) == 1;

    X509_free(cert);
    while (ok && (next = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL)
        if (SSL_CTX_add0_chain_cert(ssl, next) != 1) {
            X509_free(next);
            ok = false;
        }
    if (ok)
        ERR_clear_error(); /* the end of the text is reported as an error */
    BIO_free(bio);
    return ok;
}

static bool use_key_text(SSL_CTX *ssl, const char *text)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    bool ok = key != NULL && SSL_CTX_use_PrivateKey(ssl, key) == 1;

    EVP_PKEY_free(key);
    BIO_free(bio);
    return ok;
}

static bool tls_load(SSL_CTX *ssl, const char *cert, const char *key, struct err *err)
{
    const char *cert_name = is_pem(cert) ? "(given as text)" : cert;
    const char *key_name = is_pem(key) ? "(given as text)" : key;

    ERR_clear_error();
    if (is_pem(cert) ? !use_cert_text(ssl, cert)
                     : SSL_CTX_use_certificate_chain_file(ssl, cert) != 1)
        return tls_fail(err, "certificate", cert_name);
    if (is_pem(key) ? !use_key_text(ssl, key)
                    : SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) != 1)
        return tls_fail(err, "key", key_name);
    if (SSL_CTX_check_private_key(ssl) != 1)
        return tls_fail(err, "key", key_name);
    return true;
}

bool tls_certificate_end(const char *cert, int64_t *ret_us, struct err *err)
{
    BIO *bio = is_pem(cert) ? BIO_new_mem_buf(cert, -1) : BIO_new_file(cert, "r");
    X509 *x = bio != NULL ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    struct tm ends;
    bool ok = x != NULL && ASN1_TIME_to_tm(X509_get0_notAfter(x), &ends) == 1;

    if (ok)
        *ret_us = (int64_t)timegm(&ends) * CLOCK_S;
    X509_free(x);
    BIO_free(bio);
    ERR_clear_error();
    return ok || err_set(err, ERR_CONFIG, 0, "there is no certificate in %s",
                         is_pem(cert) ? "the text" : cert);
}

static void count_key_updates(int is_ours, int version, int type, const void *bytes, size_t len,
                              SSL *ssl, void *arg)
{
    struct tls_conn *c = arg;

    (void)version;
    (void)ssl;
    if (c != NULL && is_ours == 0 && type == SSL3_RT_HANDSHAKE && len > 0 &&
        *(const unsigned char *)bytes == SSL3_MT_KEY_UPDATE)
        c->key_updates++;
}

/* Authorities are a text or a file of one or more certificates. */
static bool demand_certificates(SSL_CTX *ssl, const char *ca, struct err *err)
{
    BIO *bio = is_pem(ca) ? BIO_new_mem_buf(ca, -1) : BIO_new_file(ca, "r");
    X509_STORE *store = SSL_CTX_get_cert_store(ssl);
    int count = 0;
    bool ok = bio != NULL;

    for (X509 *x; ok && (x = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL; count++) {
        ok = X509_STORE_add_cert(store, x) == 1 && SSL_CTX_add_client_CA(ssl, x) == 1;
        X509_free(x);
    }
    BIO_free(bio);
    if (!ok || count == 0)
        return tls_fail(err, "authority", is_pem(ca) ? "(given as text)" : ca);
    ERR_clear_error(); /* the end of the text is reported as an error */
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return true;
}

static bool tls_make(const char *cert, const char *key, SSL_CTX **ret_ssl, struct err *err)
{
    SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());

    require(ssl != NULL);
    require(SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) == 1);
    (void)SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                       SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    (void)SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF); /* tickets need no memory */
    SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
    SSL_CTX_set_msg_callback(ssl, count_key_updates);
    if (!tls_load(ssl, cert, key, err)) {
        SSL_CTX_free(ssl);
        return false;
    }
    *ret_ssl = ssl;
    return true;
}

static struct tls_context *tls_context_of(SSL_CTX *ssl)
{
    struct tls_context *t = NEW(struct tls_context);

    t->ssl = ssl;
    (void)pthread_mutex_init(&t->lock, NULL);
    return t;
}

bool tls_context_open(const char *cert, const char *key, struct tls_context **ret_context,
                      struct err *err)
{
    SSL_CTX *ssl;

    if (!tls_make(cert, key, &ssl, err))
        return false;
    *ret_context = tls_context_of(ssl);
    return true;
}

/* A ticket would let a client in whose certificate was checked long ago. */
bool tls_context_open_for(const char *cert, const char *key, const char *ca,
                          struct tls_context **ret_context, struct err *err)
{
    SSL_CTX *ssl;

    if (!tls_make(cert, key, &ssl, err))
        return false;
    SSL_CTX_set_alpn_select_cb(ssl, NULL, NULL);
    (void)SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
    (void)SSL_CTX_set_num_tickets(ssl, 0);
    if (ca != NULL && !demand_certificates(ssl, ca, err)) {
        SSL_CTX_free(ssl);
        return false;
    }
    *ret_context = tls_context_of(ssl);
    return true;
}

bool tls_context_reload(struct tls_context *t, const char *cert, const char *key, struct err *err)
{
    SSL_CTX *fresh, *old;

    if (!tls_make(cert, key, &fresh, err))
        return false;
    pthread_mutex_lock(&t->lock);
    old = t->ssl;
    t->ssl = fresh;
    pthread_mutex_unlock(&t->lock);
    SSL_CTX_free(old); /* connections hold their own references */
    return true;
}

void tls_context_close(struct tls_context *t)
{
    if (t == NULL)
        return;
    SSL_CTX_free(t->ssl);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}

static BIO *memory(void)
{
    BIO *b = BIO_new(BIO_s_mem());

    require(b != NULL);
    (void)BIO_set_mem_eof_return(b, -1); /* an empty buffer means "retry later", not EOF */
    return b;
}

struct tls_conn *tls_accept(struct tls_context *t)
{
    struct tls_conn *c = NEW(struct tls_conn);

    pthread_mutex_lock(&t->lock);
    c->ssl = SSL_new(t->ssl);
    pthread_mutex_unlock(&t->lock);
    require(c->ssl != NULL);
    c->in = memory();
    c->out = memory();
    SSL_set_bio(c->ssl, c->in, c->out);
    SSL_set_accept_state(c->ssl);
    SSL_set_msg_callback_arg(c->ssl, c);
    return c;
}

void tls_conn_free(struct tls_conn *c)
{
    if (c == NULL)
        return;
    SSL_free(c->ssl);
    free(c);
}

void tls_feed(struct tls_conn *c, struct str wire)
{
    require(BIO_write(c->in, wire.ptr, (int)wire.len) == (int)wire.len);
}

static enum tls_result result(struct tls_conn *c, int rc)
{
    int why = SSL_get_error(c->ssl, rc);

    ERR_clear_error();
    switch (why) {
    case SSL_ERROR_NONE:
        return TLS_OK;
    case SSL_ERROR_WANT_READ:
        return TLS_MORE;
    case SSL_ERROR_ZERO_RETURN:
        return TLS_CLOSED;
    default:
        return TLS_FAILED;
    }
}

enum tls_result tls_handshake(struct tls_conn *c)
{
    ERR_clear_error();
    return result(c, SSL_do_handshake(c->ssl));
}

enum tls_result tls_read(struct tls_conn *c, char *to, size_t size, size_t *ret_len)
{
    ERR_clear_error();
    int rc = SSL_read_ex(c->ssl, to, size, ret_len);

    if (c->key_updates > TLS_KEY_UPDATES_MOST) {
        ERR_clear_error();
        return TLS_TOO_OFTEN;
    }
    return rc == 1 ? TLS_OK : result(c, rc);
}

bool tls_write(struct tls_conn *c, struct str bytes)
{
    size_t n = 0;

    ERR_clear_error();
    if (bytes.len == 0)
        return true;
    bool ok = SSL_write_ex(c->ssl, bytes.ptr, bytes.len, &n) == 1 && n == bytes.len;

    ERR_clear_error();
    return ok;
}

void tls_finish(struct tls_conn *c)
{
    ERR_clear_error();
    (void)SSL_shutdown(c->ssl);
    ERR_clear_error();
}

struct str tls_output(const struct tls_conn *c)
{
    char *p = NULL;
    long n = BIO_get_mem_data(c->out, &p);

    return (struct str){ p, n > 0 ? (size_t)n : 0 };
}

void tls_output_sent(struct tls_conn *c)
{
    (void)BIO_reset(c->out);
}

void tls_trim(struct tls_conn *c)
{
    BUF_MEM *in = NULL, *out = NULL;

    (void)BIO_get_mem_ptr(c->in, &in);
    (void)BIO_get_mem_ptr(c->out, &out);
    if (in->max > TRIM_OVER && BIO_ctrl_pending(c->in) == 0) {
        c->in = memory();
        SSL_set0_rbio(c->ssl, c->in);
    }
    if (out->max > TRIM_OVER && BIO_ctrl_pending(c->out) == 0) {
        c->out = memory();
        SSL_set0_wbio(c->ssl, c->out);
    }
}
