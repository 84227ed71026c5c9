/* http_server.h - an HTTP/1.1 server over several loops.
 *
 * Each loop has listening sockets of its own (SO_REUSEPORT) and keeps the
 * connections it accepted.  A request is a conversation with one handler, on
 * the thread of its connection's loop: head, then what the handler decides.
 * Requests of one connection come strictly one after the other.
 *
 *     head ──► http_read_body ──► body* ──► end ──► http_answer
 *       └────► http_answer (any time: 401 before the first body byte is read)
 *
 * A handler never sees heads that are malformed, ambiguous, too large or too slow,
 * nor clients that send a body or read an answer too slowly: the server refuses
 * them or closes the connection, by the limits below.  When there are too many
 * connections, of all or of one address, the one of these that has been silent for
 * longest makes room for a new one.
 *
 * Invariants
 *   (1) body and end are called only after http_read_body(), and not while the
 *       request is paused; nothing but gone or drained after an answer began.
 *   (2) for each head exactly one of these happens: the answer is complete
 *       (http_answer, http_answer_end, http_answer_abort), or gone is called.
 *       After that the request is dead and must not be used.
 *   (3) no callback is called from inside a call of the handler's own into this
 *       interface.
 *   (4) a client that closes its side after a whole request still gets its
 *       answer, unless that is a stream of unknown length: then gone is called.
 *
 * Ownership      a request belongs to the server; its views live until it is
 *                dead, those of body bytes until the callback returns.
 * Threads        start, stop, free and statistics from any thread that is no
 *                loop; everything about a request on http_loop(r).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/http_parse.h"
#include "base/loop.h"
#include "base/memory_share.h"
#include "base/network.h"
#include "base/str.h"
#include "base/tls.h"

#define HTTP_HEAD_MS        10000 /* from its first byte; the first head: from the connection */
#define HTTP_IDLE_MS        75000
#define HTTP_RATE_WINDOW_MS 10000 /* the least rate of bodies and answers over this */
#define HTTP_RATE_BYTES_S   1024
#define HTTP_HANDSHAKE_MS   10000
#define HTTP_CONNECTIONS    16384
#define HTTP_CONN_REQUESTS  1000 /* then the connection is closed                    */
#define HTTP_DRAIN_BYTES    (64 * 1024)
#define HTTP_LINGER_MS      2000
#define HTTP_LINGER_BYTES   (1024 * 1024)
#define HTTP_DELAY_MS       500
#define HTTP_TICK_MS        250

struct http_limits {
    struct http_head_limits head;
    uint32_t head_ms, idle_ms, rate_window_ms, rate_bytes_s, handshake_ms;
    uint32_t connections;   /* over all loops                       */
    uint32_t per_address;   /* of these from one; 0: no limit       */
    uint32_t conn_requests; /* on one connection; 0: no limit       */
    uint32_t drain_bytes, linger_ms, linger_bytes;
    uint32_t delay_ms; /* of http_delay()                      */
    uint32_t tick_ms;  /* the resolution of the times          */
};

#define HTTP_LIMITS_DEFAULT                                                                      \
    {                                                                                            \
        .head = { .head_bytes = HTTP_HEAD_BYTES,                                                 \
                  .line_bytes = HTTP_LINE_BYTES,                                                 \
                  .fields = HTTP_HEAD_FIELDS },                                                  \
        .head_ms = HTTP_HEAD_MS, .idle_ms = HTTP_IDLE_MS, .rate_window_ms = HTTP_RATE_WINDOW_MS, \
        .rate_bytes_s = HTTP_RATE_BYTES_S, .handshake_ms = HTTP_HANDSHAKE_MS,                    \
        .connections = HTTP_CONNECTIONS, .conn_requests = HTTP_CONN_REQUESTS,                    \
        .drain_bytes = HTTP_DRAIN_BYTES, .linger_ms = HTTP_LINGER_MS,                            \
        .linger_bytes = HTTP_LINGER_BYTES, .delay_ms = HTTP_DELAY_MS, .tick_ms = HTTP_TICK_MS,   \
    }

/* What a handler sees of a request; the server fills it before head. */
struct http_request {
    void *user; /* the handler's own */
    enum http_method method;
    bool chunked;
    int64_t content_length; /* -1: not given                         */
    int64_t received_us;    /* wall time at which the head was whole */
    struct str path, query; /* raw; see http_target.h                */
    struct str authorization, idempotency_key, content_type, range; /* ptr NULL: none */
};

struct http_handler {
    /* The head is complete and valid; body was not called yet. */
    void (*head)(struct http_request *r, void *arg);
    void (*body)(struct http_request *r, struct str bytes);
    /* The whole message has been read: answer now or later. */
    void (*end)(struct http_request *r);
    /* The client disconnected, or was cut off, before the answer was complete. */
    void (*gone)(struct http_request *r);
    /* After http_answer_bytes() returned false: the output was sent, go on.  May be
     * NULL for handlers that do not stream. */
    void (*drained)(struct http_request *r);
    /* After http_delay().  May be NULL for handlers that do not use it. */
    void (*delayed)(struct http_request *r);
};

/* Why a request or a connection was refused or cut off by the server itself. */
#define HTTP_REFUSALS(X)                  \
    X(BAD, "bad_request")                 \
    X(HEAD_SIZE, "head_too_large")        \
    X(NOT_IMPLEMENTED, "not_implemented") \
    X(EXPECTATION, "expectation_failed")  \
    X(SLOW_HEAD, "slow_head")             \
    X(SLOW_BODY, "slow_body")             \
    X(SLOW_READER, "slow_reader")         \
    X(HANDSHAKE, "tls_handshake")         \
    X(KEY_UPDATES, "tls_key_updates")     \
    X(SILENT, "silent_connection")        \
    X(OVERLOAD, "too_many_connections")   \
    X(CROWD, "too_many_of_one_address")   \
    X(MEMORY, "no_memory")

enum http_refusal {
#define X(id, text) HTTP_REFUSED_##id,
    HTTP_REFUSALS(X)
#undef X
        HTTP_REFUSAL_COUNT
};

const char *http_refusal_name(enum http_refusal why);

struct http_stats {
    uint64_t open, accepted, requests, bytes_in, bytes_out;
    uint64_t refused[HTTP_REFUSAL_COUNT];
};

struct http_server_options {
    const char *host;        /* address or name; NULL or "*": every address */
    uint16_t port;           /* 0: any free one, see http_server_port()     */
    struct tls_context *tls; /* NULL: plain; outlives the server     */
    const struct http_handler *handler;
    void *arg; /* for head */
    /* Requests for this path are served even if there are too many connections, on a few more of
     * them with one request each.  NULL: none are. */
    bool (*is_reserved)(void *arg, struct str path);
    /* Proxies whose word is taken on where a request comes from; limits.per_address is not for
     * them, who bring the connections of many.  Lent for the server's life. */
    const struct network *trust;
    size_t trust_count;
    struct memory_share *memory; /* heads count in it; NULL: they do not; outlives the server */
    struct http_limits limits;
};

struct http_server;

/* The loops outlive the server and may serve others too. */
bool http_server_start(const struct http_server_options *o, struct loop **loops, size_t loop_count,
                       struct http_server **ret_server, struct err *err);
uint16_t http_server_port(const struct http_server *s);
void http_server_stats(const struct http_server *s, struct http_stats *ret_stats);

/* Stops accepting, closes idle connections, lets running requests finish, and cuts
 * off the rest after grace_ms.  Returns when the last connection is closed. */
void http_server_stop(struct http_server *s, uint32_t grace_ms);
void http_server_free(struct http_server *s); /* stopped, or NULL */

/* ---- about a request ---- */

struct loop *http_loop(const struct http_request *r);
struct str http_field(const struct http_request *r, struct str name); /* ptr NULL: none */
bool http_field_at(const struct http_request *r, size_t i, struct str *ret_name,
                   struct str *ret_value); /* false: no more */
/* Where the request comes from: the other side of the connection or, when that is a trusted proxy,
 * what the proxies say.  As text, without a port. */
struct str http_peer(struct http_request *r);
bool http_peer_is_in(struct http_request *r, const struct network *list, size_t count);
bool http_is_tls(const struct http_request *r);

/* Starts to read the body; sends "100 Continue" if the client waits for it. */
void http_read_body(struct http_request *r);
/* In between the socket is not read (back-pressure), and the rate of the body is not checked. */
void http_pause(struct http_request *r);
void http_resume(struct http_request *r);
/* For a refusal that must not be had as fast as it can be asked for: `delayed` is called in half a
 * second, unless the client disconnects before.  Nothing is read meanwhile. */
void http_delay(struct http_request *r);

/* ---- answering: the request is dead when the answer is complete ---- */

/* `fields` are complete "Name: value\r\n" lines, at most 8 KiB (http_put_field()
 * writes them safely); the server adds Content-Length, Content-Type, Date and
 * Connection.  An empty content_type leaves the field out.  A body of more than a
 * few MiB is sent in pieces. */
void http_answer(struct http_request *r, int status, struct str fields, struct str content_type,
                 struct str body);

/* Appends {"error":{"code":..,"message":..}}, the body of every refusal. */
void http_put_error(struct buf *to, const char *code, const char *message);
void http_answer_error(struct http_request *r, int status, struct str fields, const char *code,
                       const char *message);

/* An answer in pieces; length -1: unknown.  With a length, exactly that many bytes
 * must be given before the end. */
void http_answer_start(struct http_request *r, int status, struct str fields,
                       struct str content_type, int64_t length);
/* False: the output is full, wait for drained.  The bytes are taken in either case. */
bool http_answer_bytes(struct http_request *r, struct str bytes);
void http_answer_end(struct http_request *r);
/* The rest cannot be sent: closes the connection, so that the client notices. */
void http_answer_abort(struct http_request *r);
