/* s3_line.h - one request and its answer, on a thread that may block.
 *
 *     s3_talk_ask(t, service, &order, &x)          the whole answer, in memory
 *
 *     if (s3_talk_open(t, service, &order, &x))    the body of an object, piece by piece
 *         while (s3_talk_read(t, &x, to, room, &n, err) && n > 0) ...
 *     s3_talk_close(t, &x)
 *
 * A line is a connection that is kept for the next request; lines belong to an instance of a
 * connector and are used by one call at a time.  Redirects are not followed, TLS is verified, what
 * `egress` bars is not connected to (core/call.h has it).
 *
 * A call ends a little before the engine would give it up (core/call.h), so that it can tell what
 * it saw: after the time-out since it began if its document is in memory, else after as long
 * without a byte in either direction.
 *
 * Threads: lines from any; a talk belongs to one thread.
 */
#pragma once

#include <pthread.h>

#include "base/buf.h"
#include "core/call.h"
#include "core/connector.h"
#include "core/s3/s3_request.h"

struct s3_line;
struct s3_way;

struct s3_lines {
    pthread_mutex_t mutex;
    const struct http_out_options *options; /* outlive it */
    struct s3_line *idle;
    size_t idle_count;
};

void s3_lines_init(struct s3_lines *l, const struct http_out_options *options);
void s3_lines_done(struct s3_lines *l);

/* The requests of one call. */
struct s3_talk {
    struct s3_lines *lines;
    struct call *call;
    bool whole;       /* the time-out covers the call, not each silence */
    int64_t began_us; /* monotonic */
};

/* One of them. */
struct s3_exchange {
    const struct http_out_request *request; /* while it runs */
    int64_t size;                           /* of the body ... */
    struct str bytes; /* ... which is this, or, with ptr NULL, comes from read() */
    bool (*read)(void *arg, char *to, size_t room, size_t *ret_read, struct err *err);
    void *read_arg;
    bool is_final; /* call_commit() was called for it: a node that stops waits for it, and it is
                    * sent once, whatever becomes of its connection */

    /* The answer; its strings are those of the buffers. */
    struct http_out_answer answer;
    struct buf head, body; /* caps are the caller's */
    bool is_sent;          /* the whole body was sent: the service may have it */
    char failure[256];

    struct s3_way *way; /* of one that is open; NULL: none is */
};

/* Not of one that is open. */
void s3_exchange_done(struct s3_exchange *x);

/* Waits for the answer to a request that is made already. */
void s3_talk_run(struct s3_talk *t, const struct http_out_request *request, struct s3_exchange *x);
/* Signs the request of `order` and waits for the answer to it.  The rest of x->size, bytes, read
 * and is_final is the caller's to set. */
void s3_talk_ask(struct s3_talk *t, const struct s3_service *service, const struct s3_order *order,
                 struct s3_exchange *x);

/* The same for an answer with a body of any size, of which no more than S3_STREAM_MOST is held in
 * memory.  True: it is 2xx, its head is there and the body is still to be read; it must be closed.
 * False: anything else, with the whole answer in x as after s3_talk_ask(). */
enum { S3_STREAM_MOST = 256 << 10 };
bool s3_talk_open(struct s3_talk *t, const struct s3_service *service, const struct s3_order *order,
                  struct s3_exchange *x);
/* *ret_len 0: the end; all of it has come.  ERR_TRANSIENT: the connection ended before. */
bool s3_talk_read(struct s3_talk *t, struct s3_exchange *x, char *to, size_t room, size_t *ret_len,
                  struct err *err);
void s3_talk_close(struct s3_talk *t, struct s3_exchange *x);

/* A field of the answer, without blanks around it; empty: none. */
struct str s3_exchange_field(const struct s3_exchange *x, const char *name);
