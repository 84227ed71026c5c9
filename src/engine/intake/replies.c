#include "engine/intake/replies.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/require.h"
#include "base/thread.h"
#include "base/wait.h"
#include "engine/intake/reply_read.h"
#include "store/search/document.h"
#include "store/store.h"

enum {
    BUCKETS = 256,
    /* How often all waiting documents are looked at, for what this node did not do itself. */
    LOOK_ALONE_US = CLOCK_S,
    LOOK_SHARED_US = CLOCK_S / 5,
};

struct reply_wait {
    struct replies *owner;
    struct loop *loop;
    struct loop_msg msg;
    int64_t num, wait_us, until_us; /* until_us: monotonic */

    /* Under the lock. */
    struct reply_wait *next; /* in its bucket, from OPEN on until it is POSTED */
    enum {
        WAIT_RESERVED, /* the document is not stored yet */
        WAIT_OPEN,
        WAIT_LOOKING, /* the thread has it */
        WAIT_POSTED   /* its message is on the way to the loop */
    } state;
    bool asked; /* look at it at once */
    bool left;  /* while LOOKING: the thread frees it */

    struct reply_read found; /* of the thread, then of the loop */

    /* Of the loop. */
    void (*replied)(void *user, const struct intake_reply *reply); /* NULL: not listening yet */
    void *user;
    bool came; /* the message came before somebody listened */
    bool gone; /* somebody left before the message came */
};

struct replies {
    struct store *store;
    size_t most;
    int64_t look_us; /* from one look at all to the next */
    pthread_t thread;
    _Atomic int64_t places; /* taken */
    _Atomic int64_t held;   /* bytes of answers that no loop has taken yet */

    pthread_mutex_t mutex;
    pthread_cond_t wake; /* something was asked, expected or taken, or it ends */
    struct reply_wait *buckets[BUCKETS];
    size_t waiting; /* waits in buckets */
    bool asked, ending;
    int64_t hurry_us;  /* monotonic: nobody waits for longer; 0: the node does not stop */
    int64_t looked_us; /* monotonic: when all were looked at */
    bool failing;      /* the last look failed; of the thread */

    /* Of the thread: what it looks at, with room for all. */
    struct reply_wait **due;
    struct document_stand *stands;
};

static int64_t count_reply_places(void *arg)
{
    return atomic_load(&((struct replies *)arg)->places);
}

static struct metric waiting_metric = {
    .name = "waybill_intake_waiting",
    .help = "Requests that wait for the answer of a receiver (`reply: receiver`).",
    .type = METRIC_GAUGE,
    .read = count_reply_places
};

/* ---- places ---- */

struct reply_wait *replies_begin(struct replies *r, struct loop *loop, int64_t wait_us)
{
    if (atomic_fetch_add(&r->places, 1) >= (int64_t)r->most) {
        (void)atomic_fetch_sub(&r->places, 1);
        return NULL;
    }
    struct reply_wait *w = NEW(struct reply_wait);

    *w =
        (struct reply_wait){ .owner = r, .loop = loop, .wait_us = wait_us, .state = WAIT_RESERVED };
    return w;
}

static void free_wait(struct reply_wait *w)
{
    struct replies *r = w->owner;

    reply_read_done(&w->found);
    free(w);
    (void)atomic_fetch_sub(&r->places, 1);
}

/* ---- the table; with the mutex held ---- */

static struct reply_wait **replies_bucket(struct replies *r, int64_t num)
{
    return &r->buckets[(uint64_t)num % BUCKETS];
}

static void unlink_wait(struct reply_wait *w)
{
    struct reply_wait **at = replies_bucket(w->owner, w->num);

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    w->owner->waiting--;
}

static void wake_thread(struct replies *r)
{
    r->asked = true;
    (void)pthread_cond_signal(&r->wake);
}

/* ---- a wait ---- */

void replies_expect(struct reply_wait *w, const struct id *id, bool repeated)
{
    struct replies *r = w->owner;

    w->num = id_row(id);
    w->found.reply.id = *id;
    w->found.reply.repeated = repeated;
    w->until_us = clock_mono_us() + w->wait_us;
    (void)pthread_mutex_lock(&r->mutex);
    struct reply_wait **bucket = replies_bucket(r, w->num);

    require(w->state == WAIT_RESERVED && !r->ending);
    w->state = WAIT_OPEN;
    w->asked = repeated;
    w->next = *bucket;
    *bucket = w;
    r->waiting++;
    wake_thread(r); /* it may sleep until a later time than this one needs */
    (void)pthread_mutex_unlock(&r->mutex);
}

/* On the loop. */
static void on_found(struct loop_msg *msg)
{
    struct reply_wait *w = container_of(msg, struct reply_wait, msg);

    if (!w->gone && w->replied == NULL) {
        w->came = true; /* it was faster than the answer to the commit */
        return;
    }
    if (!w->gone)
        w->replied(w->user, &w->found.reply);
    struct replies *r = w->owner;
    int64_t held = (int64_t)w->found.body.len;

    if (atomic_fetch_sub(&r->held, held) > REPLIES_HELD_MOST) {
        (void)pthread_mutex_lock(&r->mutex);
        (void)pthread_cond_signal(&r->wake);
        (void)pthread_mutex_unlock(&r->mutex);
    }
    free_wait(w);
}

void replies_listen(struct reply_wait *w,
                    void (*replied)(void *user, const struct intake_reply *reply), void *user)
{
    w->replied = replied;
    w->user = user;
    if (w->came)
        loop_post(w->loop, &w->msg);
}

void replies_leave(struct reply_wait *w)
{
    struct replies *r = w->owner;
    bool free_now = false;

    (void)pthread_mutex_lock(&r->mutex);
    switch (w->state) {
    case WAIT_OPEN:
        unlink_wait(w);
        free_now = true;
        break;
    case WAIT_RESERVED:
        free_now = true;
        break;
    case WAIT_LOOKING:
        w->left = true;
        break;
    case WAIT_POSTED:
        w->gone = true;
        break;
    }
    bool came = w->state == WAIT_POSTED && w->came && w->replied == NULL;

    (void)pthread_mutex_unlock(&r->mutex);
    if (came)
        loop_post(w->loop, &w->msg);
    else if (free_now)
        free_wait(w);
}

void replies_told(struct replies *r, int64_t num)
{
    bool found = false;

    (void)pthread_mutex_lock(&r->mutex);
    for (struct reply_wait *w = *replies_bucket(r, num); w != NULL; w = w->next)
        if (w->num == num)
            found = w->asked = true;
    if (found)
        wake_thread(r);
    (void)pthread_mutex_unlock(&r->mutex);
}

/* ---- the thread ---- */

static int64_t reply_deadline(const struct replies *r, const struct reply_wait *w)
{
    return r->hurry_us != 0 && r->hurry_us < w->until_us ? r->hurry_us : w->until_us;
}

/* With the mutex: takes what is to be looked at now.  *ret_next: when something is due again. */
static size_t replies_take_due(struct replies *r, int64_t now_us, int64_t *ret_next)
{
    bool all = r->ending || now_us - r->looked_us >= r->look_us;
    size_t n = 0;

    if (all)
        r->looked_us = now_us;
    *ret_next = r->looked_us + r->look_us;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct reply_wait *w = r->buckets[i]; w != NULL; w = w->next) {
            int64_t deadline = reply_deadline(r, w);

            if (all || w->asked || now_us >= deadline) {
                require(n < r->most && w->state == WAIT_OPEN);
                w->state = WAIT_LOOKING;
                w->asked = false;
                r->due[n++] = w;
            } else if (deadline < *ret_next) {
                *ret_next = deadline;
            }
        }
    return n;
}

/* The look is over: hands the wait to its loop, or lets it wait on. */
static void reply_put_back(struct replies *r, struct reply_wait *w, bool is_found)
{
    (void)pthread_mutex_lock(&r->mutex);
    bool left = w->left;

    if (left || is_found)
        unlink_wait(w);
    w->state = is_found ? WAIT_POSTED : WAIT_OPEN;
    if (!left && is_found) {
        (void)atomic_fetch_add(&r->held, (int64_t)w->found.body.len);
        w->msg = (struct loop_msg){ .fn = on_found };
        loop_post(w->loop, &w->msg);
    }
    (void)pthread_mutex_unlock(&r->mutex);
    if (left)
        free_wait(w);
}

static void wait_for_loops(struct replies *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    while (atomic_load(&r->held) > REPLIES_HELD_MOST)
        (void)wait_until(&r->wake, &r->mutex, clock_mono_us() + CLOCK_S);
    (void)pthread_mutex_unlock(&r->mutex);
}

static void log_late(const struct reply_wait *w)
{
    char id[ID_TEXT];

    log_event(LOG_INFO, "reply.late", kv_z("document", id_text(&w->found.reply.id, id)),
              kv_z("why", w->found.reply.kind == REPLY_STOPPING
                              ? "the node stops"
                              : "nothing was delivered within `wait`"));
}

/* True: its time is over. */
static bool is_over(struct replies *r, struct reply_wait *w)
{
    (void)pthread_mutex_lock(&r->mutex);
    int64_t now = clock_mono_us();
    bool ending = r->ending, over = ending || now >= reply_deadline(r, w);
    bool late = now >= w->until_us;

    (void)pthread_mutex_unlock(&r->mutex);
    if (!over)
        return false;
    w->found.reply.kind = late ? REPLY_LATE : REPLY_STOPPING;
    log_late(w);
    return true;
}

/* True: the document is as far as its sender waits for, and has been read. */
static bool read_wait(struct replies *r, struct reply_wait *w, const struct document_stand *stand,
                      struct err *err)
{
    struct err own = { 0 };
    bool found = false;

    if (stand->is_live && !stand->has_end)
        return false;
    if (!reply_read(r->store, &w->found, &found, &own))
        *err = own;
    return found;
}

static void note_look(struct replies *r, const struct err *err)
{
    bool failed = err->kind != ERR_NONE;

    if (failed && !r->failing)
        log_event(LOG_WARN, "reply.fail", kv_z("why", err->text), kv_z("where", err->where));
    r->failing = failed;
}

/* Documents that cannot be read now are looked at again, until their time is over. */
static void replies_look(struct replies *r, size_t count)
{
    struct err err = { 0 };

    for (size_t i = 0; i < count; i++)
        r->stands[i] = (struct document_stand){ .num = r->due[i]->num };
    bool ok = document_stands(r->store, r->stands, count, &err);

    for (size_t i = 0; i < count; i++) {
        struct reply_wait *w = r->due[i];

        wait_for_loops(r);
        reply_put_back(r, w, (ok && read_wait(r, w, &r->stands[i], &err)) || is_over(r, w));
    }
    note_look(r, &err);
}

static void *replies_main(void *arg)
{
    struct replies *r = arg;

    (void)pthread_mutex_lock(&r->mutex);
    while (!r->ending || r->waiting > 0) {
        int64_t next;

        r->asked = false;
        if (r->waiting == 0) {
            (void)pthread_cond_wait(&r->wake, &r->mutex);
            continue;
        }
        size_t n = replies_take_due(r, clock_mono_us(), &next);

        if (n == 0) {
            while (!r->asked && !r->ending && wait_until(&r->wake, &r->mutex, next)) {
            }
            continue;
        }
        (void)pthread_mutex_unlock(&r->mutex);
        replies_look(r, n);
        (void)pthread_mutex_lock(&r->mutex);
    }
    (void)pthread_mutex_unlock(&r->mutex);
    return NULL;
}

/* ---- life ---- */

struct replies *replies_new(struct store *store, size_t most)
{
    struct replies *r = NEW(struct replies);

    *r = (struct replies){ .store = store,
                           .most = most,
                           .look_us =
                               store_kind(store) == DB_SQLITE ? LOOK_ALONE_US : LOOK_SHARED_US };
    r->due = xcalloc(most, sizeof *r->due);
    r->stands = xcalloc(most, sizeof *r->stands);
    (void)pthread_mutex_init(&r->mutex, NULL);
    (void)pthread_cond_init(&r->wake, NULL);
    thread_start(&r->thread, "replies", replies_main, r);
    waiting_metric.arg = r;
    metrics_register(&waiting_metric);
    return r;
}

void replies_hurry(struct replies *r, int64_t us)
{
    (void)pthread_mutex_lock(&r->mutex);
    if (r->hurry_us == 0)
        r->hurry_us = clock_mono_us() + us;
    wake_thread(r);
    (void)pthread_mutex_unlock(&r->mutex);
}

void replies_stop(struct replies *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    r->ending = true;
    (void)pthread_cond_signal(&r->wake);
    (void)pthread_mutex_unlock(&r->mutex);
    (void)pthread_join(r->thread, NULL);
    metrics_forget(&waiting_metric);
}

void replies_free(struct replies *r)
{
    if (r == NULL)
        return;
    free(r->due);
    free(r->stands);
    free(r);
}
