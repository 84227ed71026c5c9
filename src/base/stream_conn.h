/* stream_conn.h - internals of the stream server: its connections, and the state of each loop.
 *
 * Only stream_server.c and stream_conn.c include this.
 *
 * Invariants
 *   (1) a connection is closed only from its wake message, at the end of a round, when no function
 *       of the server or of a handler that uses it is on the stack.
 *   (2) `rest` holds bytes that were read and not taken; while it is not empty the socket is not
 *       read and TLS is not decrypted.
 *
 * Threads: everything runs on the loop, but struct stream_server, which has a lock.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "base/stream_server.h"

enum { STREAM_READ_BUF = 64 * 1024, STREAM_ADDRESSES = 8, STREAM_CONN_MAGIC = 0x7374726d };

struct stream_conn {
    unsigned magic;
    uv_tcp_t tcp;
    struct stream_io *io;
    struct stream_conn *prev, *next; /* list of the loop */
    struct stream_policy *policy;
    struct tls_conn *tls;
    void *user; /* of the handler, once it is `opened` */
    struct loop_msg wake;
    bool opened, scheduled, running, shaking, eof, eof_told, doomed, closing, reading;
    bool paused, busy; /* by the handler */
    bool leaving;      /* close it when it is not busy */
    bool ending;       /* close it when the output is sent */
    bool said_bye;     /* TLS close_notify was sent */
    bool lingering;    /* discards further input */
    char *rest;
    size_t rest_len, out_pending, discarded;
    uint64_t idle_since_ms;
    uint64_t handler_at_ms; /* when `expired` is called; 0: not */
    uint64_t own_at_ms;     /* when the handshake, the output or the lingering has taken too long */
    struct network_address from;
};

struct stream_listener {
    uv_poll_t poll;
    int fd;
    bool muted; /* until the next tick: out of descriptors */
};

struct stream_io {
    struct stream_server *server;
    struct loop *loop;
    uv_timer_t tick;
    struct stream_conn *conns;
    size_t conn_count, handles; /* handles: of listeners, that are open */
    char *read_buf, *plain_buf;
    bool stopping, ended;
    uint64_t cut_at_ms;
    struct loop_msg start, stop, renew;
    bool renewing; /* under the lock: `renew` is posted */
};

struct stream_server {
    struct stream_server_options o;
    uint16_t port;
    struct stream_listener listeners[STREAM_ADDRESSES]; /* of the first loop */
    size_t listener_count;
    size_t next_io; /* of the first loop */
    int spare_fd;
    _Atomic uint64_t connections, accepted;
    pthread_mutex_t lock; /* guards policy, stats, running and grace */
    pthread_cond_t changed;
    struct stream_policy *policy;
    struct stream_stats stats;
    size_t running; /* loops that still serve */
    uint32_t grace_ms;
    size_t io_count;
    struct stream_io *io;
};

/* stream_server.c */
struct stream_policy *stream_server_policy(struct stream_server *s); /* a reference */
void stream_server_count(struct stream_server *s, enum stream_refusal why,
                         const struct network_address *from);
void stream_server_unmute(struct stream_server *s); /* on the first loop */
void stream_io_ended(struct stream_io *io);         /* the last call about the io */

/* stream_conn.c */
void stream_io_start(struct stream_io *io);
void stream_io_stop(struct stream_io *io, uint32_t grace_ms);
void stream_io_end_if_done(struct stream_io *io);
/* Closes the connections of other policies as soon as they are not busy. */
void stream_io_leave(struct stream_io *io, const struct stream_policy *now);
void stream_conn_open(struct stream_io *io, int fd, const struct network_address *from);
