/* transfer_handle.h - libcurl's easy handles: options, one request, its answer.
 *
 * A profile is one set of options (one endpoint) with its idle easy handles: a request sets only
 * what differs from the one before.
 *
 * Threads: everything on the transfer thread.
 */
#pragma once

#include <curl/curl.h>

#include "base/buf.h"
#include "base/egress.h"
#include "engine/transfer/transfer.h"
#include "engine/transfer/transfer_drain.h"
#include "engine/transfer/transfer_feed.h"

enum {
    HANDLE_MAGIC = 0x68616e64,
    HANDLE_HEAD_MOST = 256 << 10,  /* header bytes of an answer */
    HANDLE_BODY_KEPT = 4096,       /* answer buffer that an idle handle keeps */
    HANDLE_FIELDS_MOST = 64 << 10, /* header bytes of a request */
    HANDLE_EXTRA_FIELDS = 3,
    PROFILE_BUCKETS = 128,
    PROFILES_MOST = 512,
    IDLE_MOST = 256, /* idle easy handles */
};

/* What a handle needs of the hub. */
struct handle_host {
    struct feed_owner feeds;
    struct drain_owner drains;
    bool has_proxy; /* the environment configures a proxy, and it is to be used */
    const struct egress *egress;
    bool (*may_send)(void *arg, const struct transfer *t);
    void (*opened)(void *arg, curl_socket_t fd);
    void (*closed)(void *arg, curl_socket_t fd);
    void *arg;
};

struct profile {
    struct profile *next;
    const struct http_out_options *key;
    struct http_out_options own; /* NUL-terminated copies */
    struct handle *idle;
    size_t idle_count, active;
    bool stale; /* replaced: the endpoint has other options now */
};

enum body_kind { BODY_UNSET, BODY_NONE, BODY_BYTES, BODY_FEED };

/* One easy handle; active while `transfer` is set. */
struct handle {
    unsigned magic;
    CURL *easy;
    const struct handle_host *host;
    struct profile *profile;
    struct handle *next, *prev; /* idle in its profile, or active in the hub */
    struct transfer *transfer;

    /* The request, as last set in libcurl. */
    struct buf fields, url;
    char method[16];
    enum body_kind body_kind;
    bool whole; /* the time-out covers all of it; otherwise it counts silence */
    struct curl_slist nodes[HTTP_OUT_FIELDS + HANDLE_EXTRA_FIELDS];
    struct feed *feed;

    /* The answer. */
    struct buf body;
    size_t head_bytes, dropped; /* head_bytes: since the last send */
    bool refused, repeated, enough, too_long, head_whole;
    const char *barred;  /* why egress refused; NULL: it did not */
    struct drain *drain; /* takes the answer; NULL: it is small, or nobody does */
    int64_t answer_us;   /* when the first byte of the body came; monotonic, 0: none yet */
    bool endless;        /* the answer was cut: it did not end in time ... */
    bool too_large;      /* ... or is larger than its sink takes */
    bool over;           /* finished, but a pool thread still reads its body or puts its answer */
    char failure[CURL_ERROR_SIZE];
};

/* NULL: libcurl is out of memory. */
struct handle *handle_new(const struct handle_host *host, struct profile *p);
void handle_free(struct handle *handle);
/* False: the request cannot be made; answer.failure says why. */
bool handle_begin(struct handle *handle, struct transfer *t);
/* Fills in the answer; its strings belong to the handle. */
void handle_answer(struct handle *handle, CURLcode rc);
/* A pool thread works for it: it cannot end yet. */
bool handle_is_busy(const struct handle *handle);
/* After handle_answer(), and after each piece that was put: what is left of the answer is put. */
void handle_drain(struct handle *handle);
/* Detaches the transfer; the handle is idle again. */
void handle_end(struct handle *handle);

struct profile *profile_new(const struct http_out_options *o);
void profile_free(struct profile *p); /* with its idle handles */
bool profile_is(const struct profile *p, const struct http_out_options *o);
