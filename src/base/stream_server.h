/* stream_server.h - a TCP server for protocols that are conversations of messages, over several
 * loops.
 *
 * It accepts on its port, speaks TLS, keeps the limits, and hands the bytes of each connection to
 * its handler, which answers when it likes.  A connection belongs to one loop; new ones go to the
 * loops in turn.
 *
 *     open ──► bytes* ──► stream_pause ... stream_send, stream_resume ──► bytes* ──► gone
 *
 * Bytes that the handler leaves when it pauses are kept and given again after stream_resume(); the
 * socket is not read meanwhile, and also not while output waits to be sent.  So nobody makes the
 * server hold more than one read of a connection.
 *
 * A *policy* is everything that may change while the port stays open: certificates, who may
 * connect, what the handler is told.  Connections that were made under another policy are closed as
 * soon as they are not busy.
 *
 * Invariants
 *   (1) for each open exactly one gone; no other callback after it.
 *   (2) bytes is not called while the connection is paused or has output that is not sent.
 *   (3) no callback is called from inside a call of the handler's own into this interface.
 *   (4) a client that has closed its side still gets the answer to what was whole by then.
 *
 * Threads: everything about a connection on its loop; the server's own functions from any thread
 * that is no loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/network.h"
#include "base/str.h"
#include "base/tls.h"

#define STREAM_CONNECTIONS  256
#define STREAM_HANDSHAKE_MS 10000
#define STREAM_LINGER_MS    2000
#define STREAM_LINGER_BYTES (1024 * 1024)
#define STREAM_TICK_MS      250

struct stream_limits {
    uint32_t connections;  /* over all loops; the longest idle one makes room for a new one */
    uint32_t handshake_ms; /* of TLS */
    uint32_t silence_ms;   /* how long a client may take nothing of an answer */
    uint32_t linger_ms, linger_bytes;
    uint32_t tick_ms; /* the resolution of the times */
};

#define STREAM_LIMITS_DEFAULT                                                                    \
    {                                                                                            \
        .connections = STREAM_CONNECTIONS, .handshake_ms = STREAM_HANDSHAKE_MS,                  \
        .silence_ms = 30000, .linger_ms = STREAM_LINGER_MS, .linger_bytes = STREAM_LINGER_BYTES, \
        .tick_ms = STREAM_TICK_MS,                                                               \
    }

struct stream_conn;

struct stream_handler {
    /* A connection is there, its handshake is done; returns what the others get as `user`. */
    void *(*open)(struct stream_conn *c, void *arg);
    /* Returns how many of them it has taken; the rest is given again when nothing stands against
     * it (2).  At least one, unless it has paused or ended the connection. */
    size_t (*bytes)(void *user, struct str bytes);
    /* The time of stream_deadline() is over. */
    void (*expired)(void *user);
    /* The client has closed its side, and all its bytes were taken: unless the handler pauses now,
     * the connection ends. */
    void (*eof)(void *user);
    void (*gone)(void *user);
};

/* Why a connection was refused or cut off. */
#define STREAM_REFUSALS(X)                                     \
    X(NETWORK, "address_not_allowed")                          \
    X(OVERLOAD, "too_many_connections")                        \
    X(HANDSHAKE, "tls_handshake")                              \
    X(SLOW_READER, "slow_reader")                              \
    X(BROKEN, "protocol") /* by the handler: stream_blame() */ \
    X(SILENT, "silent_connection")

enum stream_refusal {
#define X(id, text) STREAM_REFUSED_##id,
    STREAM_REFUSALS(X)
#undef X
        STREAM_REFUSAL_COUNT
};

const char *stream_refusal_name(enum stream_refusal why);

/* Immutable but for its references. */
struct stream_policy {
    _Atomic unsigned refs;
    struct tls_context *tls; /* NULL: plain; owned */
    struct network *allow;   /* who may connect; owned */
    size_t allow_count;      /* 0: everybody */
    void *arg;               /* for open; owned: */
    void (*free_arg)(void *arg);
};

void stream_policy_unref(struct stream_policy *p); /* accepts NULL */

struct stream_stats {
    uint64_t open, accepted;
    uint64_t refused[STREAM_REFUSAL_COUNT], refused_all;
    /* Of the last one that was refused. */
    enum stream_refusal why;
    struct network_address from;
};

struct stream_server_options {
    const char *host; /* address or name; "*": every address */
    uint16_t port;    /* 0: any free one */
    const struct stream_handler *handler;
    struct loop **loops; /* they outlive the server */
    size_t loop_count;
    struct stream_limits limits;
};

struct stream_server;

/* Takes the reference to the policy, also when it fails. */
bool stream_server_open(const struct stream_server_options *o, struct stream_policy *policy,
                        struct stream_server **ret, struct err *err);
/* Whether the port could be listened on now. */
bool stream_server_try(const char *host, uint16_t port, struct err *err);
/* Another policy from now on; takes the reference. */
void stream_server_use(struct stream_server *s, struct stream_policy *policy);
uint16_t stream_server_port(const struct stream_server *s);
void stream_server_stats(struct stream_server *s, struct stream_stats *ret);

/* Closes the port and every connection that is not busy; the rest when they are not any more, and
 * after grace_ms in any case. */
void stream_server_close(struct stream_server *s, uint32_t grace_ms);
/* Its last connection is closed. */
bool stream_server_is_closed(struct stream_server *s);
/* Waits until the last connection is closed, and frees the server; after stream_server_close(). */
void stream_server_free(struct stream_server *s); /* accepts NULL */

/* ---- about a connection, on its loop ---- */

struct loop *stream_loop(const struct stream_conn *c);
void stream_send(struct stream_conn *c, struct str bytes);
void stream_pause(struct stream_conn *c);
void stream_resume(struct stream_conn *c);
/* Within a message, or not: a busy connection is not closed by the server while it is sound. */
void stream_set_busy(struct stream_conn *c, bool busy);
/* `expired` is called in so many milliseconds, unless this is called again before; 0: not. */
void stream_deadline(struct stream_conn *c, uint32_t ms);
/* Counts the connection as refused; the handler ends it. */
void stream_blame(struct stream_conn *c, enum stream_refusal why);
/* Closes the connection when its output is sent; nothing more is read. */
void stream_finish(struct stream_conn *c);
uint64_t stream_now_ms(const struct stream_conn *c);
