#include "engine/threads/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/require.h"
#include "base/thread.h"
#include "base/wait.h"

enum {
    IDLE_US = 60 * CLOCK_S,
    TELL_US = 5 * CLOCK_S, /* calls that wait longer for a thread are reported */
    NAME = 16
};

/* One thread.  It is joined when it has ended, and detached when it is lost. */
struct hand {
    struct hand *next; /* of those that ended */
    struct crew *crew;
    pthread_t thread;
};

struct crew {
    char name[NAME];
    pthread_t timekeeper;
    pthread_mutex_t mutex;
    pthread_cond_t filled;  /* a call was submitted, or the crew ends */
    pthread_cond_t changed; /* for the timekeeper: a deadline is nearer; for crew_free(): an end */
    pthread_cond_t told;    /* lost() of a call has ended */
    struct crew_call *first, **end;
    struct crew_call *running; /* by `next` */
    struct hand *ended;
    size_t most, lost_most;
    size_t threads, idle, waiting, lost; /* threads: the lost ones not counted */
    size_t returning;                    /* lost threads that are in back() */
    int64_t look_us;                     /* when the timekeeper looks again; monotonic */
    int64_t hurry_us; /* everything ends by then; INT64_MAX: the node does not stop */
    bool stopping, closed, was_lost; /* was_lost: a thread was lost once */
    struct crew *next;               /* in `kept` */
};

/* Crews whose lost threads may come back after crew_free(). */
static _Atomic(struct crew *) kept;

/* ---- threads, with the mutex held ---- */

static struct crew_call *take_first(struct crew *c)
{
    struct crew_call *call = c->first;

    c->first = call->next;
    if (c->first == NULL)
        c->end = &c->first;
    c->waiting--;
    call->next = NULL;
    return call;
}

static void crew_drop(struct crew *c, const struct crew_call *call)
{
    struct crew_call **at = &c->running;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
}

static int64_t deadline_of(const struct crew *c, struct crew_call *call)
{
    int64_t since = call->whole ? call->began_us : atomic_load(&call->call.alive_us);
    int64_t at = since + call->patience_us;

    return at < c->hurry_us ? at : c->hurry_us;
}

static void crew_begin(struct crew *c, struct crew_call *call)
{
    call->began_us = clock_mono_us();
    call->call.until_us = call->whole ? call->began_us + call->patience_us : 0;
    atomic_store(&call->call.alive_us, call->began_us);
    call->next = c->running;
    c->running = call;
    if (deadline_of(c, call) < c->look_us)
        (void)pthread_cond_broadcast(&c->changed);
}

/* False: the call was given up, and this thread is lost no more but superfluous. */
static bool crew_end(struct crew *c, struct crew_call *call)
{
    if (!call->is_lost) {
        crew_drop(c, call);
        return true;
    }
    while (call->losing)
        (void)pthread_cond_wait(&c->told, &c->mutex);
    return false;
}

static void add_threads(struct crew *c);

/* False: idle for a minute, or the crew ends. */
static bool wait_for_call(struct crew *c)
{
    int64_t until_us = clock_mono_us() + IDLE_US;

    c->idle++;
    while (c->first == NULL && !c->stopping && wait_until(&c->filled, &c->mutex, until_us)) {
    }
    c->idle--;
    return c->first != NULL;
}

/* The call of a lost thread has returned, and its thread ends.  After crew_free() whoever back()
 * would tell may be gone. */
static void *come_back(struct crew *c, struct crew_call *call, struct hand *hand)
{
    c->lost--;
    if (!c->closed) {
        add_threads(c); /* a call may wait because too many were lost */
        c->returning++;
        (void)pthread_mutex_unlock(&c->mutex);
        call->back(call);
        (void)pthread_mutex_lock(&c->mutex);
        c->returning--;
        (void)pthread_cond_broadcast(&c->changed);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    free(hand);
    return NULL;
}

static void *crew_main(void *arg)
{
    struct hand *hand = arg;
    struct crew *c = hand->crew;

    (void)pthread_mutex_lock(&c->mutex);
    while (wait_for_call(c)) {
        struct crew_call *call = take_first(c);

        call->hand = hand;
        crew_begin(c, call);
        (void)pthread_mutex_unlock(&c->mutex);
        call->run(call);
        (void)pthread_mutex_lock(&c->mutex);
        if (!crew_end(c, call))
            return come_back(c, call, hand);
        (void)pthread_mutex_unlock(&c->mutex);
        call->done(call);
        (void)pthread_mutex_lock(&c->mutex);
    }
    c->threads--;
    hand->next = c->ended;
    c->ended = hand;
    (void)pthread_cond_broadcast(&c->changed);
    (void)pthread_mutex_unlock(&c->mutex);
    return NULL;
}

/* They have released the mutex for the last time. */
static void join_ended(struct crew *c)
{
    while (c->ended != NULL) {
        struct hand *hand = c->ended;

        c->ended = hand->next;
        (void)pthread_join(hand->thread, NULL);
        free(hand);
    }
}

/* If no thread can be created, the crew works on with those it has. */
static void crew_add(struct crew *c)
{
    struct hand *hand = NEW(struct hand);

    join_ended(c);
    hand->crew = c;
    if (pthread_create(&hand->thread, NULL, crew_main, hand) != 0) {
        free(hand);
        return;
    }
    (void)pthread_setname_np(hand->thread, c->name);
    c->threads++;
}

static void add_threads(struct crew *c)
{
    size_t spare = c->lost < c->lost_most ? 0 : c->lost - c->lost_most;

    if (c->waiting > c->idle && c->threads + spare < c->most)
        crew_add(c);
}

/* ---- the timekeeper, with the mutex held ---- */

static struct crew_call *find_late(struct crew *c, int64_t now_us)
{
    struct crew_call *call = c->running;

    while (call != NULL && deadline_of(c, call) > now_us)
        call = call->next;
    return call;
}

static void give_up(struct crew *c, struct crew_call *call)
{
    crew_drop(c, call);
    call->is_lost = call->losing = true;
    c->was_lost = true;
    (void)pthread_detach(((struct hand *)call->hand)->thread);
    c->threads--;
    c->lost++;
    add_threads(c);
    bool committed = call_give_up(&call->call);

    (void)pthread_mutex_unlock(&c->mutex);
    call->lost(call, committed);
    (void)pthread_mutex_lock(&c->mutex);
    call->losing = false;
    (void)pthread_cond_broadcast(&c->told);
    (void)pthread_cond_broadcast(&c->changed);
}

/* The node stops, and the call waits for a thread: it never begins. */
static void give_up_waiting(struct crew *c)
{
    struct crew_call *call = take_first(c);

    (void)call_give_up(&call->call);
    (void)pthread_mutex_unlock(&c->mutex);
    call->lost(call, false);
    call->back(call);
    (void)pthread_mutex_lock(&c->mutex);
}

/* A call that pauses now may go on at any moment, and has its patience from then on: nobody wakes
 * the timekeeper for that. */
static int64_t next_look(struct crew *c, int64_t now_us)
{
    int64_t next = c->first != NULL ? c->hurry_us : INT64_MAX;

    for (struct crew_call *call = c->running; call != NULL; call = call->next) {
        int64_t at = deadline_of(c, call), soonest = now_us + call->patience_us;

        at = at < soonest ? at : soonest;
        next = at < next ? at : next;
    }
    return next;
}

static void *timekeeper_main(void *arg)
{
    struct crew *c = arg;

    (void)pthread_mutex_lock(&c->mutex);
    while (!c->closed) {
        int64_t now = clock_mono_us();
        struct crew_call *late = find_late(c, now);

        if (late != NULL) {
            give_up(c, late);
            continue;
        }
        if (c->first != NULL && now >= c->hurry_us) {
            give_up_waiting(c);
            continue;
        }
        c->look_us = next_look(c, now);
        if (c->look_us == INT64_MAX)
            (void)pthread_cond_wait(&c->changed, &c->mutex);
        else
            (void)wait_until(&c->changed, &c->mutex, c->look_us);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return NULL;
}

/* ---- life ---- */

struct crew *crew_new(const char *name, size_t most, size_t lost_most)
{
    struct crew *c = NEW(struct crew);

    require(most > 0);
    (void)snprintf(c->name, sizeof c->name, "%s", name);
    c->most = most;
    c->lost_most = lost_most;
    c->end = &c->first;
    c->hurry_us = c->look_us = INT64_MAX;
    (void)pthread_mutex_init(&c->mutex, NULL);
    (void)pthread_cond_init(&c->filled, NULL);
    (void)pthread_cond_init(&c->changed, NULL);
    (void)pthread_cond_init(&c->told, NULL);
    thread_start(&c->timekeeper, "timekeeper", timekeeper_main, c);
    return c;
}

void crew_submit(struct crew *c, struct crew_call *call)
{
    require(call->run != NULL && call->done != NULL && call->lost != NULL && call->back != NULL);
    call->next = NULL;
    call->began_us = clock_mono_us();
    (void)pthread_mutex_lock(&c->mutex);
    *c->end = call;
    c->end = &call->next;
    c->waiting++;
    add_threads(c);
    if (c->hurry_us != INT64_MAX)
        (void)pthread_cond_broadcast(&c->changed);
    (void)pthread_cond_signal(&c->filled);
    (void)pthread_mutex_unlock(&c->mutex);
}

void crew_hurry(struct crew *c, int64_t patience_us)
{
    if (c == NULL)
        return;
    (void)pthread_mutex_lock(&c->mutex);
    c->hurry_us = clock_mono_us() + patience_us;
    (void)pthread_cond_broadcast(&c->changed);
    (void)pthread_mutex_unlock(&c->mutex);
}

size_t crew_free(struct crew *c)
{
    if (c == NULL)
        return 0;
    (void)pthread_mutex_lock(&c->mutex);
    c->stopping = true;
    (void)pthread_cond_broadcast(&c->filled);
    while (c->threads > 0 || c->first != NULL || c->returning > 0)
        (void)pthread_cond_wait(&c->changed, &c->mutex);
    c->closed = true;
    (void)pthread_cond_broadcast(&c->changed);
    join_ended(c);
    size_t lost = c->lost;

    (void)pthread_mutex_unlock(&c->mutex);
    (void)pthread_join(c->timekeeper, NULL);
    if (c->was_lost) { /* a thread that nobody joins may still be using it */
        c->next = atomic_load(&kept);
        while (!atomic_compare_exchange_weak(&kept, &c->next, c)) {
        }
        return lost;
    }
    (void)pthread_cond_destroy(&c->filled);
    (void)pthread_cond_destroy(&c->changed);
    (void)pthread_cond_destroy(&c->told);
    (void)pthread_mutex_destroy(&c->mutex);
    free(c);
    return 0;
}

void crew_look(struct crew *c, struct crew_look *ret)
{
    (void)pthread_mutex_lock(&c->mutex);
    *ret = (struct crew_look){ .most = c->most,
                               .busy = c->threads - c->idle,
                               .lost = c->lost,
                               .lost_most = c->lost_most,
                               .waiting = c->waiting,
                               .waits_us =
                                   c->first != NULL ? clock_mono_us() - c->first->began_us : 0 };
    (void)pthread_mutex_unlock(&c->mutex);
}

bool crew_tell(struct crew *c, const char *work, struct buf *to)
{
    struct crew_look look = { 0 };

    if (c != NULL)
        crew_look(c, &look);
    if (look.waits_us < TELL_US)
        return false;
    buf_printf(
        to,
        "%zu %s wait for a thread, the first for %lld s: of %zu threads %zu are busy, and %zu "
        "more hang and were given up\n",
        look.waiting, work, (long long)(look.waits_us / CLOCK_S), look.most, look.busy, look.lost);
    return true;
}
