#include "base/tls_watch.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

/* ---- a certificate ---- */

static int64_t watch_time(const ASN1_TIME *at)
{
    struct tm parts;

    return ASN1_TIME_to_tm(at, &parts) == 1 ? (int64_t)timegm(&parts) * CLOCK_S : 0;
}

/* The common name, or all of it: a certificate may have none. */
static void watch_name(X509_NAME *name, char to[static TLS_WATCH_NAME])
{
    to[0] = '\0';
    if (X509_NAME_get_text_by_NID(name, NID_commonName, to, TLS_WATCH_NAME) <= 0)
        (void)X509_NAME_oneline(name, to, TLS_WATCH_NAME);
}

static void watch_add_name(struct tls_watch *w, const char *name, int len)
{
    size_t used = strlen(w->names);

    if (len <= 0 || memchr(name, '\0', (size_t)len) != NULL ||
        used + (size_t)len + 3 > sizeof w->names)
        return;
    (void)snprintf(w->names + used, sizeof w->names - used, "%s%.*s", used > 0 ? ", " : "", len,
                   name);
}

static void watch_hosts(struct tls_watch *w, const X509 *cert)
{
    GENERAL_NAMES *all = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);

    w->names[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(all); i++) {
        const GENERAL_NAME *one = sk_GENERAL_NAME_value(all, i);

        if (one->type == GEN_DNS)
            watch_add_name(w, (const char *)ASN1_STRING_get0_data(one->d.dNSName),
                           ASN1_STRING_length(one->d.dNSName));
    }
    GENERAL_NAMES_free(all);
}

static void watch_certificate(struct tls_watch *w, const X509 *cert)
{
    if (cert == NULL)
        return;
    w->seen = true;
    watch_name(X509_get_subject_name(cert), w->subject);
    watch_name(X509_get_issuer_name(cert), w->issuer);
    w->from_us = watch_time(X509_get0_notBefore(cert));
    w->until_us = watch_time(X509_get0_notAfter(cert));
    watch_hosts(w, cert);
}

/* ---- callbacks of OpenSSL ---- */

static struct tls_watch *watch_of(const SSL *ssl)
{
    return SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
}

static int watch_verify(int ok, X509_STORE_CTX *store)
{
    const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_watch *w = watch_of(ssl);

    if (ok == 0 && w->refused == 0) {
        w->refused = X509_STORE_CTX_get_error(store);
        watch_certificate(w, X509_STORE_CTX_get_current_cert(store));
    }
    return ok;
}

static void watch_info(const SSL *ssl, int where, int ret)
{
    struct tls_watch *w = watch_of(ssl);

    (void)ret;
    if ((where & SSL_CB_HANDSHAKE_DONE) == 0 || w->done)
        return;
    w->done = true;
    if (w->refused == 0)
        watch_certificate(w, SSL_get0_peer_certificate(ssl));
}

void tls_watch(struct tls_watch *w, void *context)
{
    SSL_CTX *ctx = context;

    w->begun = true;
    (void)SSL_CTX_set_app_data(ctx, w);
    SSL_CTX_set_verify(ctx, SSL_CTX_get_verify_mode(ctx), watch_verify);
    SSL_CTX_set_info_callback(ctx, watch_info);
}

/* ---- for people ---- */

enum tls_refusal tls_watch_refusal(const struct tls_watch *w)
{
    switch (w->refused) {
    case X509_V_OK:
        return TLS_REFUSED_NOT;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return TLS_REFUSED_EXPIRED;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return TLS_REFUSED_EARLY;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_UNTRUSTED:
        return TLS_REFUSED_ISSUER;
    default:
        return TLS_REFUSED_OTHER;
    }
}

const char *tls_watch_why(const struct tls_watch *w)
{
    return X509_verify_cert_error_string(w->refused);
}
