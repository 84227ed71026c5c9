/* tls_watch.h - what a TLS handshake of ours with a server came to: for people who look for the
 * cause when one fails.
 *
 * A client library makes the handshake, and says only that it failed.  The watch is told of each
 * certificate by OpenSSL itself, and changes nothing: what was refused without it is refused with
 * it.
 *
 * Threads: that of the handshake.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TLS_WATCH_NAME = 120, TLS_WATCH_NAMES = 200 };

struct tls_watch {
    bool begun, done; /* done: both sides have agreed; the name is not compared yet */
    int refused;      /* why a certificate was not accepted: X509_V_ERR_...; 0: none was refused */
    /* The certificate that was refused, else that of the server. */
    bool seen;
    char subject[TLS_WATCH_NAME], issuer[TLS_WATCH_NAME];
    int64_t from_us, until_us;   /* wall clock */
    char names[TLS_WATCH_NAMES]; /* the hosts that it is for, as far as there is room */
};

/* `context` is an SSL_CTX, before its first connection; it keeps a pointer to the watch. */
void tls_watch(struct tls_watch *w, void *context);

enum tls_refusal {
    TLS_REFUSED_NOT, /* none was refused */
    TLS_REFUSED_EXPIRED,
    TLS_REFUSED_EARLY,  /* not valid yet */
    TLS_REFUSED_ISSUER, /* signed by nobody who is trusted */
    TLS_REFUSED_OTHER
};

enum tls_refusal tls_watch_refusal(const struct tls_watch *w);
/* OpenSSL's words for it. */
const char *tls_watch_why(const struct tls_watch *w);
