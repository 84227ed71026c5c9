/* http_conn.h - internals of the HTTP server: connections, and the state of each loop.
 *
 * Only the http_*.c files include this.  http_server.c starts, listens, accepts,
 * ticks and stops; http_conn.c reads, parses and closes; http_answer.c writes;
 * http_peer.c says where a request comes from.
 *
 * A connection without a request keeps no buffer: bytes are read into one buffer
 * of the loop, and the request object (parser, head, fields) comes from the
 * loop's free list with the first byte and goes back after the answer.
 *
 * Invariants
 *   (1) a connection is in at most one list of read deadlines and one of write
 *       deadlines.
 *   (2) a connection is closed only from conn_wake(), at the end of a round, when
 *       no function of the server or of a handler that uses it is on the stack.
 *   (3) `rest` holds bytes that were read and not parsed; while it is not empty,
 *       the socket is not read.
 *   (4) the memory of requests that have a connection, and of every rest, is noted in
 *       the share; what a loop has not told yet is under HTTP_HEADS_UNTOLD.
 *
 * Threads        everything runs on the loop, except struct http_server and the counters.
 */
#pragma once

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "base/http_crowd.h"
#include "base/http_server.h"

enum {
    HTTP_READ_BUF = 64 * 1024,
    HTTP_OUT_BUF = 16 * 1024,   /* answers up to this size are one write */
    HTTP_FIELDS_OUT = 8 * 1024, /* the handler's own fields              */
    HTTP_OUT_HIGH = 256 * 1024, /* then http_answer_bytes() is false     */
    HTTP_OUT_MAX = 64 * 1024 * 1024,
    HTTP_ADDRESSES = 8,
    HTTP_FREE_REQUESTS = 256,
    HTTP_REFUSING = 256,           /* connections over the limit that get a 503 */
    HTTP_HEADS_UNTOLD = 64 * 1024, /* so that requests do not contend for the share */
    HTTP_CONN_MAGIC = 0x68747470,
};

/* One list of deadlines per kind of wait.  All waits of a list are equally long,
 * so that the list is sorted by insertion. */
enum wait {
    WAIT_NONE,
    WAIT_HANDSHAKE,
    WAIT_IDLE,
    WAIT_HEAD,
    WAIT_BODY,
    WAIT_LINGER,
    WAIT_SEND,
    WAIT_DELAY,
    WAITS,
};

struct deadline {
    struct deadline *prev, *next;
    uint64_t at_ms;
};

struct request {
    struct http_request pub; /* what the handler sees */
    struct http_conn *conn;
    struct request *next_free;
    enum { ANSWER_NONE, ANSWER_STREAM, ANSWER_DONE } answer;
    bool told;     /* the head callback was called           */
    bool reading;  /* http_read_body was called              */
    bool paused;   /* by http_pause                          */
    bool complete; /* the whole message was parsed           */
    bool close;    /* no further request on this connection  */
    bool no_body;  /* HEAD, 204, 304: the answer has no body */
    bool out_chunked, want_drained;
    int64_t out_left;                /* of a declared length; -1: unknown */
    char peer[NETWORK_ADDRESS_TEXT]; /* "": not asked for yet */
    struct http_parser parser;
};

struct http_conn {
    unsigned magic;
    uv_tcp_t tcp;
    struct http_io *io;
    struct http_conn *prev, *next; /* list of the loop */
    struct request *req;           /* NULL: idle      */
    struct tls_conn *tls;
    struct loop_msg wake;
    struct deadline read_dl, write_dl, delay_dl;
    uint8_t read_wait, write_wait; /* enum wait */
    bool scheduled, running, shaking, eof, doomed, closing, broken;
    bool said_bye;  /* TLS close_notify was sent      */
    bool ending;    /* close when the output is sent  */
    bool clean;     /* ... and at once, not lingering */
    bool lingering; /* discards further input         */
    bool delaying;  /* http_delay() was called        */
    bool refusing;  /* over a limit of connections: served only if its path is reserved */
    bool crowded;   /* ... over that of its address */
    bool counted;   /* in the crowd of its address  */
    bool reading;   /* uv_read_start is on            */
    uint32_t requests;
    char *rest;
    size_t rest_len;
    size_t out_pending;  /* handed to libuv, not written        */
    uint64_t window_in;  /* bytes since the body window began   */
    uint64_t out_total;  /* bytes handed to libuv, in total     */
    uint64_t window_out; /* written when the send window began  */
    uint64_t discarded;
    struct network_address from; /* the other side, as the crowd counts it */
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } peer;
};

struct http_listener {
    uv_poll_t poll;
    int fd;
    bool muted; /* until the next tick: out of descriptors */
};

/* Written by its loop only; atomic so that any thread may read. */
struct http_counters {
    _Atomic uint64_t open, accepted, requests, bytes_in, bytes_out;
    _Atomic uint64_t refused[HTTP_REFUSAL_COUNT];
};

struct http_io {
    struct http_server *server;
    struct loop *loop;
    struct http_listener listeners[HTTP_ADDRESSES];
    size_t listener_count, handles; /* handles of the server that are open */
    uv_timer_t tick;
    struct deadline waits[WAITS]; /* heads of rings */
    struct http_conn *conns;
    size_t conn_count, refusing_count;
    int64_t heads_untold; /* bytes, not yet in the share */
    struct request *free_requests;
    size_t free_count;
    char *read_buf, *plain_buf, *out_buf;
    char date[64];
    int64_t date_s;
    int spare_fd;
    bool stopping;
    uint64_t cut_at_ms;
    struct loop_msg start, stop;
    struct http_counters counters;
};

struct http_server {
    struct http_server_options o;
    uint16_t port;
    _Atomic uint32_t connections;
    struct http_crowd *crowd; /* NULL: no limit by address */
    pthread_mutex_t lock;     /* guards running and grace */
    pthread_cond_t changed;
    size_t running; /* loops that still serve */
    uint32_t grace_ms;
    size_t io_count;
    struct http_io *io;
};

static inline void http_count(_Atomic uint64_t *counter, uint64_t n)
{
    uint64_t was = atomic_load_explicit(counter, memory_order_relaxed);

    atomic_store_explicit(counter, was + n, memory_order_relaxed); /* one writer */
}

/* What http_server.c knows of a connection when it accepts it. */
struct http_guest {
    int fd;
    struct network_address from;
    bool refusing, crowded, counted; /* see struct http_conn */
};

/* http_conn.c */
void conn_open(struct http_io *io, const struct http_guest *guest, const struct sockaddr *peer,
               socklen_t len);
/* Closes the connection that has been silent for longest; false: none is silent.  from: of those
 * from this address; NULL: of all. */
bool conn_evict_silent(struct http_io *io, const struct network_address *from);
void conn_doom(struct http_conn *c);     /* close at the end of the round    */
void conn_schedule(struct http_conn *c); /* go on at the end of the round    */
/* After a change of the state: updates deadlines and reading, handles the end of input. */
void conn_settle(struct http_conn *c);
void conn_wait_delay(struct http_conn *c, bool on);
void conn_wait_send(struct http_conn *c, bool on);
void conn_expired(struct deadline *d, enum wait what);
uint64_t conn_written(const struct http_conn *c); /* how much of out_total was written */
void request_release(struct request *r);

/* http_answer.c */
void conn_flush_tls(struct http_conn *c);
/* Sends an error of the server itself, then closes the connection. */
void conn_refuse(struct http_conn *c, enum http_refusal why, int status, const char *code,
                 const char *message);
void request_finish(struct request *r); /* answered and, if wanted, read to its end */

/* http_server.c */
void io_tell_heads(struct http_io *io); /* to the share, what it was not told yet */
void io_conn_closed(struct http_io *io, struct http_conn *c);
