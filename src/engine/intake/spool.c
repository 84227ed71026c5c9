#include "engine/intake/spool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/container_of.h"
#include "base/require.h"
#include "base/thread.h"
#include "store/payload/payload.h"

enum { RESUME_AT = SPOOL_PIPE / 4 };

struct chunk {
    struct chunk *next;
    size_t len;
    char bytes[];
};

/* Shared by the loop and one spool thread at a time; the spool's mutex guards the fields that both
 * use. */
struct spool_body {
    struct spool *spool;
    struct loop *loop;
    struct spool_body *next; /* in the queue of bodies with work */
    struct chunk *first, **end;
    size_t queued_bytes;
    bool queued, ended, aborted, full, finished, posted; /* posted: the done message is posted */
    bool telling; /* a drained message is under way: the body must outlive it */
    bool drop;    /* not a body: an order to delete the upload in `result` */

    /* used by the spool thread only */
    struct upload *upload;
    struct digest digest;
    struct spool_result result;

    /* used by the loop only */
    const struct spool_calls *calls;
    void *user;
    struct loop_msg drained, done;
};

struct spool {
    struct store *store;
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct spool_body *first, **end;
    bool stopping;
    size_t thread_count;
    pthread_t threads[];
};

/* With the mutex held. */
static void enqueue(struct spool *s, struct spool_body *b)
{
    if (b->queued)
        return;
    b->queued = true;
    b->next = NULL;
    *s->end = b;
    s->end = &b->next;
    (void)pthread_cond_signal(&s->filled);
}

static void free_body(struct spool_body *b)
{
    for (struct chunk *c = b->first, *next; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    upload_close(b->upload);
    digest_drop(&b->digest);
    free(b);
}

/* ---- on a spool thread ---- */

static void write_chunk(struct spool_body *b, struct str bytes)
{
    struct spool_result *r = &b->result;

    if (!r->ok)
        return; /* failed earlier: only drain the rest */
    if (b->upload == NULL) {
        b->digest = digest_start();
        r->ok = upload_open(b->spool->store, &b->upload, &r->err);
    }
    if (r->ok)
        r->ok = upload_add(b->upload, bytes, &r->err);
    if (r->ok) {
        digest_add(&b->digest, bytes);
        r->size += (int64_t)bytes.len;
    }
}

static void spool_finish(struct spool_body *b)
{
    struct spool_result *r = &b->result;

    require(b->upload != NULL || !r->ok);
    if (r->ok)
        r->ok = upload_finish(b->upload, &r->place, &r->err);
    if (r->ok)
        r->sha256 = digest_end(&b->digest);
    upload_close(b->upload); /* may block, so never on the loop */
    b->upload = NULL;
}

/* The sender disconnected while the body was being finished.  With the mutex held. */
static void give_up_finished(struct spool *s, struct spool_body *b)
{
    bool telling = b->telling, ok = b->result.ok;
    struct payload_ref place = b->result.place;

    (void)pthread_mutex_unlock(&s->mutex);
    if (ok)
        upload_drop(s->store, place);
    if (!telling) /* else the message re-queues the body */
        free_body(b);
    (void)pthread_mutex_lock(&s->mutex);
}

/* Works on one body, a chunk at a time, so that a long body does not delay the others.  Called and
 * left with the mutex held. */
static void spool_work_on(struct spool *s, struct spool_body *b)
{
    struct chunk *c = b->first;

    b->queued = false;
    if (b->drop) {
        (void)pthread_mutex_unlock(&s->mutex);
        upload_drop(s->store, b->result.place);
        free_body(b);
        (void)pthread_mutex_lock(&s->mutex);
        return;
    }
    if (b->aborted && b->telling)
        return; /* the message re-queues the body */
    if (b->aborted) {
        (void)pthread_mutex_unlock(&s->mutex);
        free_body(b);
        (void)pthread_mutex_lock(&s->mutex);
        return;
    }
    if (c != NULL) {
        b->first = c->next;
        if (b->first == NULL)
            b->end = &b->first;
        b->queued = true; /* claimed: the loop must not queue it meanwhile */
        (void)pthread_mutex_unlock(&s->mutex);
        write_chunk(b, str_mem(c->bytes, c->len));
        size_t len = c->len;

        free(c);
        (void)pthread_mutex_lock(&s->mutex);
        b->queued = false;
        b->queued_bytes -= len;
        /* A message under way must not be posted again: the last bytes of a read can fill the pipe
         * once more before the loop handles it. */
        if (b->full && b->queued_bytes <= RESUME_AT && !b->aborted && !b->telling) {
            b->full = false;
            b->telling = true;
            loop_post(b->loop, &b->drained);
        }
        if (b->first != NULL || b->ended || b->aborted)
            enqueue(s, b);
        return;
    }
    if (b->ended && !b->finished) {
        b->finished = b->queued = true;
        (void)pthread_mutex_unlock(&s->mutex);
        spool_finish(b);
        (void)pthread_mutex_lock(&s->mutex);
        b->queued = false;
        if (b->aborted) {
            give_up_finished(s, b);
            return;
        }
        b->posted = true;
        loop_post(b->loop, &b->done);
    }
}

static void *spool_main(void *arg)
{
    struct spool *s = arg;

    (void)pthread_mutex_lock(&s->mutex);
    for (;;) {
        while (s->first == NULL && !s->stopping)
            (void)pthread_cond_wait(&s->filled, &s->mutex);
        struct spool_body *b = s->first;

        if (b == NULL)
            break;
        s->first = b->next;
        if (s->first == NULL)
            s->end = &s->first;
        spool_work_on(s, b);
    }
    (void)pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* ---- on the loop ---- */

static void tell_drained(struct loop_msg *msg)
{
    struct spool_body *b = container_of(msg, struct spool_body, drained);
    struct spool *s = b->spool;

    (void)pthread_mutex_lock(&s->mutex);
    b->telling = false;
    bool aborted = b->aborted;

    if (b->queued_bytes <= RESUME_AT)
        b->full = false;
    bool resume = !aborted && !b->full; /* full again: the next chunk written posts the message */

    if (aborted)
        enqueue(s, b);
    (void)pthread_mutex_unlock(&s->mutex);
    if (resume)
        b->calls->drained(b->user);
}

static void tell_done(struct loop_msg *msg)
{
    struct spool_body *b = container_of(msg, struct spool_body, done);

    if (!b->aborted)
        b->calls->done(b->user, &b->result);
    free_body(b);
}

/* With the mutex held. */
static void queue_drop(struct spool *s, struct payload_ref place)
{
    struct spool_body *b = NEW(struct spool_body);

    *b = (struct spool_body){ .spool = s, .drop = true, .result = { .place = place } };
    enqueue(s, b);
}

void spool_drop(struct spool *s, struct payload_ref place)
{
    (void)pthread_mutex_lock(&s->mutex);
    queue_drop(s, place);
    (void)pthread_mutex_unlock(&s->mutex);
}

struct spool_body *spool_begin(struct spool *s, struct loop *loop, const struct spool_calls *calls,
                               void *user)
{
    struct spool_body *b = NEW(struct spool_body);

    *b = (struct spool_body){ .spool = s,
                              .loop = loop,
                              .calls = calls,
                              .user = user,
                              .result = { .ok = true },
                              .drained = { .fn = tell_drained },
                              .done = { .fn = tell_done } };
    b->end = &b->first;
    return b;
}

bool spool_add(struct spool_body *b, struct str bytes)
{
    struct chunk *c = xmalloc(sizeof *c + bytes.len);

    *c = (struct chunk){ .len = bytes.len };
    memcpy(c->bytes, bytes.ptr, bytes.len);
    (void)pthread_mutex_lock(&b->spool->mutex);
    *b->end = c;
    b->end = &c->next;
    b->queued_bytes += bytes.len;
    b->full = b->queued_bytes >= SPOOL_PIPE;
    bool more = !b->full;

    enqueue(b->spool, b);
    (void)pthread_mutex_unlock(&b->spool->mutex);
    return more;
}

void spool_end(struct spool_body *b)
{
    (void)pthread_mutex_lock(&b->spool->mutex);
    b->ended = true;
    enqueue(b->spool, b);
    (void)pthread_mutex_unlock(&b->spool->mutex);
}

/* A body whose done message is under way is freed by that message, any other by a spool thread. */
void spool_abort(struct spool_body *b)
{
    (void)pthread_mutex_lock(&b->spool->mutex);
    b->aborted = true;
    if (!b->finished)
        enqueue(b->spool, b);
    else if (b->posted && b->result.ok)
        queue_drop(b->spool, b->result.place);
    (void)pthread_mutex_unlock(&b->spool->mutex);
}

struct spool *spool_new(struct store *store, size_t threads)
{
    struct spool *s = xcalloc(1, sizeof *s + threads * sizeof s->threads[0]);

    s->store = store;
    s->end = &s->first;
    s->thread_count = threads;
    (void)pthread_mutex_init(&s->mutex, NULL);
    (void)pthread_cond_init(&s->filled, NULL);
    for (size_t i = 0; i < threads; i++)
        thread_start(&s->threads[i], "spool", spool_main, s);
    return s;
}

void spool_free(struct spool *s)
{
    if (s == NULL)
        return;
    (void)pthread_mutex_lock(&s->mutex);
    s->stopping = true;
    (void)pthread_cond_broadcast(&s->filled);
    (void)pthread_mutex_unlock(&s->mutex);
    for (size_t i = 0; i < s->thread_count; i++)
        (void)pthread_join(s->threads[i], NULL);
    (void)pthread_cond_destroy(&s->filled);
    (void)pthread_mutex_destroy(&s->mutex);
    free(s);
}
