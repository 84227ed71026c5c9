/* tls.h - the server's side of TLS, without sockets.
 *
 * A context is a certificate chain and its key, as PEM; reloading replaces them for new
 * connections, while open connections keep theirs.  A connection decrypts and encrypts between
 * memory buffers; the caller moves the bytes to and from the socket.  TLS 1.2 and 1.3, no
 * renegotiation, no compression, ALPN http/1.1.  Key updates cost the server work and bring it
 * nothing: clients that send any do so after gigabytes, so few of them are enough for a connection.
 *
 * Ownership      a connection keeps what it needs of its context alive.
 * Threads        a context from any; a connection from one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct tls_context;
struct tls_conn;

/* Each is the path of a PEM file, or the PEM text itself. */
bool tls_context_open(const char *cert, const char *key, struct tls_context **ret_context,
                      struct err *err);
/* On failure the context is unchanged. */
bool tls_context_reload(struct tls_context *t, const char *cert, const char *key, struct err *err);
void tls_context_close(struct tls_context *t); /* accepts NULL */

/* For a protocol other than HTTP: no ALPN, no session tickets.  `ca`, NULL or like the others: the
 * authorities of which a client needs a certificate; without one its handshake fails. */
bool tls_context_open_for(const char *cert, const char *key, const char *ca,
                          struct tls_context **ret_context, struct err *err);

/* When the first certificate of a PEM file or text expires. */
bool tls_certificate_end(const char *cert, int64_t *ret_us, struct err *err);

struct tls_conn *tls_accept(struct tls_context *t);
void tls_conn_free(struct tls_conn *c); /* accepts NULL */

enum { TLS_KEY_UPDATES_MOST = 32 };

enum tls_result {
    TLS_OK,
    TLS_MORE,      /* needs more bytes from the wire        */
    TLS_CLOSED,    /* the peer sent close_notify            */
    TLS_FAILED,    /* send what tls_output() has, and close */
    TLS_TOO_OFTEN, /* ... because the peer changed its keys more than TLS_KEY_UPDATES_MOST times */
};

void tls_feed(struct tls_conn *c, struct str wire);
enum tls_result tls_handshake(struct tls_conn *c);
enum tls_result tls_read(struct tls_conn *c, char *to, size_t size, size_t *ret_len);
bool tls_write(struct tls_conn *c, struct str bytes); /* all of it, into the output */
void tls_finish(struct tls_conn *c);                  /* sends close_notify         */

struct str tls_output(const struct tls_conn *c); /* for the wire; lent until the next call */
void tls_output_sent(struct tls_conn *c);        /* all of it was taken                    */

/* Frees buffers that have grown large; for connections that become idle. */
void tls_trim(struct tls_conn *c);
