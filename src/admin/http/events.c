#include "admin/http/events.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "admin/login/identify.h"
#include "admin/login/login.h"
#include "admin/login/principal.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/digest.h"
#include "base/require.h"
#include "base/thread.h"
#include "base/wait.h"
#include "core/web/http_user.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/tally/series.h"
#include "store/govern/hold.h"
#include "store/govern/pause.h"
#include "store/job/job.h"
#include "store/store.h"
#include "store/watch/alert.h"

enum {
    MAGIC = 0x65766e74,
    ROUND_MOST = 4096,
    ALERTS_MOST = 200,
    ARENA_MOST = 8 << 20,
    WHO_MOST = 1 << 20
};

#define STREAM_US (INT64_C(120) * CLOCK_S)

/* The events of one poll, as text: `all` for clients who see all systems, `some` for the others.
 * Shared by the loops. */
struct round {
    _Atomic unsigned refs;
    struct buf all, some;
};

struct stream {
    struct http_user user; /* first: http_user.h */
    unsigned magic;
    struct branch *branch;
    struct http_request *request;
    struct stream *next, **at; /* list of its branch */
    struct stream *known;      /* next in http_events.streams, under the mutex */
    enum principal_kind kind;
    char *name;
    struct sha256 session; /* of a user */
    bool sees_all, behind; /* behind: the last bytes are not written yet */
    int64_t until_us;      /* monotonic */
};

/* The streams of one loop, and the round that is posted to it. */
struct branch {
    struct http_events *events;
    struct loop *loop;
    struct loop_msg msg;
    struct round *round;
    _Atomic bool posted;
    bool ending; /* the posted message ends all streams */
    struct stream *streams;
};

/* State at the last poll, to find changes; known: there was a poll. */
struct seen {
    bool known;
    int64_t total[SERIES_NAMES], dead, version, mark, jobs;
    struct sha256 pauses, open;
};

struct http_events {
    struct engine *engine;
    const struct identify *known;
    struct branch *branches;
    size_t branch_count;

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    bool running, stopping;
    struct stream *streams;
    size_t count;

    struct seen seen; /* used by the thread only */
};

/* ---- a stream: on its loop ---- */

static struct stream *stream_of(void *user)
{
    struct stream *s = user;

    require(s->magic == MAGIC);
    return s;
}

static void stream_free(struct stream *s)
{
    struct http_events *e = s->branch->events;

    *s->at = s->next;
    if (s->next != NULL)
        s->next->at = s->at;
    (void)pthread_mutex_lock(&e->mutex);
    for (struct stream **p = &e->streams; *p != NULL; p = &(*p)->known)
        if (*p == s) {
            *p = s->known;
            e->count--;
            break;
        }
    (void)pthread_mutex_unlock(&e->mutex);
    s->magic = 0;
    free(s->name);
    free(s);
}

static void http_events_on_gone(struct http_request *r)
{
    stream_free(stream_of(r->user));
}

static void http_events_on_drained(struct http_request *r)
{
    stream_of(r->user)->behind = false;
}

static const struct http_handler handler = { .gone = http_events_on_gone,
                                             .drained = http_events_on_drained };

/* Frees the stream and ends its request. */
static void stream_end(struct stream *s, bool in_order)
{
    struct http_request *r = s->request;

    stream_free(s);
    if (in_order)
        http_answer_end(r);
    else
        http_answer_abort(r);
}

/* Whether the client may still listen; what it may see is as of now. */
static bool stream_may(struct stream *s)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(WHO_MOST);
    const struct identify *known = s->branch->events->known;
    struct principal who;
    int64_t caller;
    bool may = s->kind == PRINCIPAL_USER ? login_look(known->login, &s->session, &a, &who)
                                         : identify(known, s->request, &a, &who, &caller);

    s->sees_all = may && rights_everywhere(&who.rights, RIGHT_SEE);
    return may;
}

static void stream_give(struct stream *s, const struct round *round, int64_t now_us)
{
    if (s->behind || now_us >= s->until_us || !stream_may(s)) {
        stream_end(s, !s->behind);
        return;
    }
    struct str text = buf_view(s->sees_all ? &round->all : &round->some);

    if (text.len > 0)
        s->behind = !http_answer_bytes(s->request, text);
}

static void round_unref(struct round *r)
{
    if (r == NULL || atomic_fetch_sub(&r->refs, 1) > 1)
        return;
    buf_done(&r->all);
    buf_done(&r->some);
    free(r);
}

static void http_events_on_round(struct loop_msg *msg)
{
    struct branch *b = container_of(msg, struct branch, msg);
    struct round *round = b->round;
    bool ending = b->ending;
    int64_t now = clock_mono_us();

    for (struct stream *s = b->streams, *next; s != NULL; s = next) {
        next = s->next;
        if (ending)
            stream_end(s, !s->behind);
        else
            stream_give(s, round, now);
    }
    b->round = NULL;
    round_unref(round);
    atomic_store(&b->posted, false);
}

/* ---- opening ---- */

static bool http_events_is_of(const struct stream *s, const struct principal *who)
{
    return s->kind == who->kind && str_is(who->name, s->name);
}

static struct branch *branch_of(struct http_events *e, const struct loop *loop)
{
    for (size_t i = 0; i < e->branch_count; i++)
        if (e->branches[i].loop == loop)
            return &e->branches[i];
    unreachable("a request comes on a loop of the engine");
}

static void *look_main(void *arg);

/* Why no stream may be opened; NULL: it may.  Called under the mutex. */
static const char *why_not(const struct http_events *e, const struct principal *who,
                           int *ret_status)
{
    size_t own = 0;

    for (const struct stream *s = e->streams; s != NULL; s = s->known)
        own += http_events_is_of(s, who);
    *ret_status = own >= EVENTS_EACH_MOST ? 429 : 503;
    if (e->stopping)
        return "The node is stopping.";
    if (own >= EVENTS_EACH_MOST)
        return "You have five streams of events open. Close one.";
    return e->count >= EVENTS_STREAMS_MOST ? "Too many streams of events are open." : NULL;
}

static const char *http_events_take(struct http_events *e, struct stream *s,
                                    const struct principal *who, int *ret_status)
{
    (void)pthread_mutex_lock(&e->mutex);
    const char *why = why_not(e, who, ret_status);

    if (why == NULL) {
        s->known = e->streams;
        e->streams = s;
        e->count++;
        if (!e->running)
            thread_start(&e->thread, "events", look_main, e);
        e->running = true;
    }
    (void)pthread_mutex_unlock(&e->mutex);
    return why;
}

void http_events_open(struct http_events *e, struct http_request *r, const struct principal *who)
{
    struct stream *s = NEW(struct stream);
    int status;

    *s = (struct stream){ .user = { .handler = &handler },
                          .magic = MAGIC,
                          .branch = branch_of(e, http_loop(r)),
                          .request = r,
                          .kind = who->kind,
                          .name = xstrndup(who->name),
                          .sees_all = rights_everywhere(&who->rights, RIGHT_SEE),
                          .until_us = clock_mono_us() + STREAM_US };
    if (who->session != NULL)
        s->session = *who->session;
    const char *why = http_events_take(e, s, who, &status);

    if (why != NULL) {
        free(s->name);
        free(s);
        http_answer_error(r, status, STR("Retry-After: 5\r\n"), "too_many", why);
        return;
    }
    s->at = &s->branch->streams;
    s->next = s->branch->streams;
    if (s->next != NULL)
        s->next->at = &s->next;
    s->branch->streams = s;
    r->user = s;
    http_answer_start(r, 200,
                      STR("Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                          "X-Accel-Buffering: no\r\n"),
                      STR("text/event-stream"), -1);
    s->behind = !http_answer_bytes(r, STR("retry: 3000\n: events of this node\n\n"));
}

/* ---- looking ---- */

/* `number` < 0: the event has none.  some: clients who do not see all systems get the event, too,
 * without the number. */
static void put_event(struct round *to, const char *name, const char *key, int64_t number,
                      bool some)
{
    if (number >= 0)
        buf_printf(&to->all, "event: %s\ndata: {\"%s\":%lld}\n\n", name, key, (long long)number);
    else
        buf_printf(&to->all, "event: %s\ndata: {}\n\n", name);
    if (some)
        buf_printf(&to->some, "event: %s\ndata: {}\n\n", name);
}

static void look_at_numbers(struct http_events *e, struct round *to)
{
    struct series *series = engine_series(e->engine);
    char time[CLOCK_TEXT];
    struct series_now now;

    series_look(series, clock_wall_us());
    series_now(series, &now);
    buf_printf(&to->all, "event: tick\ndata: {\"time\":\"%s\"",
               clock_utc_text(clock_wall_us(), time));
    for (int i = 0; i < SERIES_NAMES; i++) {
        int64_t before = e->seen.known ? e->seen.total[i] : now.total[i];
        int64_t n = now.total[i] - (i == SERIES_WAITING ? 0 : before);

        buf_printf(&to->all, ",\"%s\":%lld", series_words[i], (long long)(n > 0 ? n : 0));
        e->seen.total[i] = now.total[i];
    }
    buf_printf(&to->all, ",\"deadLetters\":%lld}\n\n", (long long)now.dead_letters);
    if (e->seen.known && now.dead_letters != e->seen.dead)
        put_event(to, "dead", "count", now.dead_letters, false);
    e->seen.dead = now.dead_letters;
}

static void look_at_version(struct http_events *e, struct round *to)
{
    struct plan *plan = road_plan(engine_road(e->engine));
    int64_t version = plan->version;

    plan_unref(plan);
    if (e->seen.known && version != e->seen.version) {
        buf_printf(&to->some, "event: config\ndata: {\"version\":%lld}\n\n", (long long)version);
        put_event(to, "config", "version", version, false);
    }
    e->seen.version = version;
}

/* Holds and pauses share one mark in the store.  A digest of the pauses, which are few, shows which
 * of the two changed. */
static bool look_at_holds(struct http_events *e, struct round *to, struct arena *a, struct err *err)
{
    struct pause *pauses = ARENA_ARRAY(a, struct pause, PAUSES_MOST);
    int64_t mark, now;
    size_t n;

    if (!hold_look(engine_store(e->engine), &mark, &now, err))
        return false;
    if (e->seen.known && mark == e->seen.mark)
        return true;
    if (!pause_list(engine_store(e->engine), a, pauses, &n, err))
        return false;
    struct digest d = digest_start();

    for (size_t i = 0; i < n; i++) {
        int64_t one[] = { pauses[i].node, pauses[i].what, pauses[i].made_us };

        digest_add(&d, str_mem(one, sizeof one));
    }
    struct sha256 sum = digest_end(&d);

    if (e->seen.known)
        put_event(to, digest_same(&sum, &e->seen.pauses) ? "hold" : "pause", NULL, -1, true);
    e->seen.pauses = sum;
    e->seen.mark = mark;
    return true;
}

static bool look_at_alerts(struct http_events *e, struct round *to, struct arena *a,
                           struct err *err)
{
    struct alert *list = ARENA_ARRAY(a, struct alert, ALERTS_MOST);
    size_t n;

    if (!alert_list(engine_store(e->engine), false, a, list, ALERTS_MOST, &n, err))
        return false;
    struct digest d = digest_start();

    for (size_t i = 0; i < n; i++)
        digest_add(&d, str_mem(&list[i].num, sizeof list[i].num));
    struct sha256 sum = digest_end(&d);

    if (e->seen.known && !digest_same(&sum, &e->seen.open))
        put_event(to, "alert", "open", (int64_t)n, true);
    e->seen.open = sum;
    return true;
}

static bool look_at_jobs(struct http_events *e, struct round *to, struct err *err)
{
    int64_t mark;

    if (!job_mark(engine_store(e->engine), &mark, err))
        return false;
    if (e->seen.known && mark != e->seen.jobs)
        put_event(to, "job", NULL, -1, false);
    e->seen.jobs = mark;
    return true;
}

/* A failed query is not reported: its change is found by a later poll. */
static struct round *http_events_look(struct http_events *e)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_MOST);
    struct round *to = NEW(struct round);
    struct err err = { 0 };

    *to = (struct round){ .refs = 1, .all = BUF_INIT(ROUND_MOST), .some = BUF_INIT(ROUND_MOST) };
    look_at_numbers(e, to);
    look_at_version(e, to);
    bool ok = look_at_holds(e, to, &a, &err) && look_at_alerts(e, to, &a, &err) &&
              look_at_jobs(e, to, &err);

    e->seen.known = e->seen.known || ok;
    buf_puts(&to->some, ":\n\n");
    return to;
}

/* ---- the thread ---- */

/* A loop that has not handled the last round yet misses this one. */
static void http_events_post(struct branch *b, struct round *round)
{
    if (atomic_exchange(&b->posted, true))
        return;
    atomic_fetch_add(&round->refs, 1);
    b->round = round;
    b->msg.fn = http_events_on_round;
    loop_post(b->loop, &b->msg);
}

/* Waits a second.  False: stop.  *ret_listened: a stream is open. */
static bool wait_second(struct http_events *e, bool *ret_listened)
{
    int64_t until_us = clock_mono_us() + CLOCK_S;

    (void)pthread_mutex_lock(&e->mutex);
    while (!e->stopping && wait_until(&e->changed, &e->mutex, until_us)) {
    }
    bool go_on = !e->stopping;

    *ret_listened = e->count > 0;
    (void)pthread_mutex_unlock(&e->mutex);
    return go_on;
}

static void *look_main(void *arg)
{
    struct http_events *e = arg;
    bool listened;

    while (wait_second(e, &listened)) {
        if (!listened) { /* forget the old state: the next stream begins without a comparison */
            e->seen.known = false;
            continue;
        }
        struct round *round = http_events_look(e);

        for (size_t i = 0; i < e->branch_count; i++)
            http_events_post(&e->branches[i], round);
        round_unref(round);
    }
    return NULL;
}

/* ---- life ---- */

struct http_events *http_events_new(struct engine *engine, const struct identify *known)
{
    struct http_events *e = NEW(struct http_events);

    e->engine = engine;
    e->known = known;
    e->branch_count = engine_loop_count(engine);
    e->branches = xcalloc(e->branch_count, sizeof *e->branches);
    for (size_t i = 0; i < e->branch_count; i++) {
        e->branches[i].events = e;
        e->branches[i].loop = engine_loops(engine)[i];
    }
    (void)pthread_mutex_init(&e->mutex, NULL);
    (void)pthread_cond_init(&e->changed, NULL);
    return e;
}

void http_events_stop(struct http_events *e)
{
    (void)pthread_mutex_lock(&e->mutex);
    bool running = e->running && !e->stopping;

    e->stopping = true;
    (void)pthread_cond_signal(&e->changed);
    (void)pthread_mutex_unlock(&e->mutex);
    if (!running)
        return;
    (void)pthread_join(e->thread, NULL);
    for (size_t i = 0; i < e->branch_count; i++) {
        struct branch *b = &e->branches[i];

        while (atomic_exchange(&b->posted, true)) /* the loop still handles the last round */
            clock_sleep_us(1000);
        b->ending = true;
        b->msg.fn = http_events_on_round;
        loop_post(b->loop, &b->msg);
    }
}

void http_events_free(struct http_events *e)
{
    if (e == NULL)
        return;
    http_events_stop(e);
    for (size_t i = 0; i < e->branch_count; i++)
        while (atomic_load(&e->branches[i].posted))
            clock_sleep_us(1000);
    free(e->branches);
    free(e);
}
