/* transfer_parts.h - what the files of the transfer hub know of each other.
 *
 * transfer.c         the thread, its queue, sockets and timers
 * transfer_handle.c  libcurl's easy handles: options, one request, its answer
 * transfer_feed.c    the body of a large document, read ahead by the pool
 *
 * A profile stands for one set of options (one endpoint) and keeps the easy handles that
 * are idle: a request sets only what differs from the one before.
 *
 * Threads: everything on the transfer thread, but for the thread of the pool
 * that reads a piece (struct feed).
 */
#pragma once

#include <curl/curl.h>

#include "base/buf.h"
#include "engine/threads/pool.h"
#include "engine/transfer/transfer.h"

enum {
    HANDLE_MAGIC = 0x68616e64,
    HANDLE_HEAD_MOST = 256 << 10,  /* header bytes of an answer */
    HANDLE_BODY_KEPT = 4096,       /* memory that an idle handle keeps for answers */
    HANDLE_FIELDS_MOST = 64 << 10, /* header bytes of a request */
    HANDLE_EXTRA_FIELDS = 3,
    PROFILE_BUCKETS = 128,
    PROFILES_MOST = 512,
    IDLE_MOST = 256, /* easy handles that wait for work */
    FEED_PIECES = 2,
    FEED_PIECE_MOST = 4 << 20,
};

struct feed;

struct profile {
    struct profile *next;
    const struct http_out_options *key;
    struct http_out_options own; /* terminated copies */
    struct handle *idle;
    size_t idle_count, active;
    bool stale; /* the endpoint has other options now */
};

enum body_kind { BODY_UNSET, BODY_NONE, BODY_BYTES, BODY_FEED };

/* One easy handle; with `transfer` set it is under way. */
struct handle {
    unsigned magic;
    CURL *easy;
    struct transfer_hub *hub;
    struct profile *profile;
    struct handle *next, *prev; /* idle in its profile, or under way in the hub */
    struct transfer *transfer;

    /* The request; what libcurl was told last. */
    struct buf fields, url;
    char method[16];
    enum body_kind body_kind;
    struct curl_slist nodes[HTTP_OUT_FIELDS + HANDLE_EXTRA_FIELDS];
    struct feed *feed;

    /* The answer. */
    struct buf body;
    size_t head_bytes, dropped; /* head_bytes: since the last send */
    bool refused, repeated, enough, too_long, head_whole;
    bool over; /* done, but a thread still reads its body */
    char failure[CURL_ERROR_SIZE];
};

struct transfer_hub;

/* Of the hub, for handles. */
bool hub_may_send(const struct transfer_hub *h, const struct transfer *t);
void hub_socket_opened(struct transfer_hub *h, curl_socket_t fd);
void hub_socket_closed(struct transfer_hub *h, curl_socket_t fd);
struct pool *hub_pool(const struct transfer_hub *h);
bool hub_has_proxy(const struct transfer_hub *h);

/* NULL: libcurl has no memory for one. */
struct handle *handle_new(struct transfer_hub *h, struct profile *p);
void handle_free(struct handle *handle);
/* False: the request cannot be made; answer.failure says why. */
bool handle_begin(struct handle *handle, struct transfer *t);
/* Fills in the answer; its strings are the handle's. */
void handle_answer(struct handle *handle, CURLcode rc);
/* Nothing of the transfer is left in it. */
void handle_end(struct handle *handle);

struct profile *profile_new(const struct http_out_options *o);
void profile_free(struct profile *p); /* with its idle handles */
bool profile_is(const struct profile *p, const struct http_out_options *o);

/* ---- the body of a large document ----------------------------------------------------- */

struct feed {
    struct pool_job job;
    struct feed *next; /* those that came back, in the hub */
    struct transfer_hub *hub;
    struct handle *handle;
    const struct sending *sending;

    struct buf pieces[FEED_PIECES];
    size_t first, filled, at; /* the piece being sent, how many there are, bytes of it sent */
    int64_t left;             /* bytes that `next` has still to give */
    bool reading, paused, failed;

    /* Of the thread of the pool that reads, until it is back. */
    struct buf *into;
    bool read_ok;
    struct err err;
};

struct feed *feed_new(struct transfer_hub *h, struct handle *handle, const struct sending *s);
void feed_free(struct feed *f);
/* Let a thread read on when there is room. */
void feed_pull(struct feed *f, struct pool *pool);
/* What libcurl asks for; CURL_READFUNC_PAUSE or _ABORT are possible. */
size_t feed_read(struct feed *f, char *to, size_t room);
/* Take what a thread has read. */
void feed_returned(struct feed *f);
/* On a thread of the pool: hands f back to the hub. */
void hub_feed_back(struct transfer_hub *h, struct feed *f);
