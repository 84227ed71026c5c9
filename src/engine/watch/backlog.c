#include "engine/watch/backlog.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "core/forecast.h"
#include "core/reminder.h"
#include "core/state.h"
#include "core/window.h"
#include "engine/dispatch/dispatch.h"
#include "engine/dispatch/govern.h"
#include "engine/road/road.h"
#include "engine/tally/mishaps.h"
#include "engine/tally/ways.h"
#include "engine/watch/alerts.h"
#include "store/road/aloft.h"
#include "store/road/settle.h"
#include "store/store.h"
#include "store/watch/chart.h"

enum {
    LOOK_US = 2 * CLOCK_S,    /* how long a count is reused */
    SAMPLE_US = 10 * CLOCK_S, /* the shortest sample of the rate */
    MINUTE_US = 60 * CLOCK_S,
    ELSEWHERE_MINUTES = 4, /* beside the one under way, of which the rate of other nodes is made */
    REASONS = 7,
    LABELS = 128
};

struct system_backlog {
    struct system_backlog *next;
    int64_t word, ready, later, sending, sampled_us;
    int64_t elsewhere; /* deliveries per hour of other nodes, recently */
    int64_t held[REASONS];
    struct forecast forecast;
    struct reminder too_short;
    struct metric metrics[REASONS]; /* registered when first set */
    char labels[REASONS][LABELS];
};

struct backlog {
    struct backlog_options o;
    struct dispatch *dispatch; /* of the road */
    pthread_mutex_t mutex;
    int64_t looked_us; /* the last count, monotonic; 0: never */
    struct system_backlog *systems;
};

struct backlog *backlog_new(const struct backlog_options *options)
{
    struct backlog *b = NEW(struct backlog);

    *b = (struct backlog){ .o = *options, .dispatch = road_dispatch(options->road) };
    (void)pthread_mutex_init(&b->mutex, NULL);
    return b;
}

void backlog_free(struct backlog *b)
{
    if (b == NULL)
        return;
    for (struct system_backlog *s = b->systems, *next; s != NULL; s = next) {
        next = s->next;
        for (int i = 0; i < REASONS; i++)
            metrics_forget(&s->metrics[i]);
        free(s);
    }
    free(b);
}

/* ---- with the mutex held ---- */

static struct system_backlog *backlog_find(struct backlog *b, int64_t word)
{
    struct system_backlog *s = b->systems;

    while (s != NULL && s->word != word)
        s = s->next;
    return s;
}

static struct system_backlog *get(struct backlog *b, int64_t word)
{
    struct system_backlog *s = backlog_find(b, word);

    if (s != NULL)
        return s;
    s = NEW(struct system_backlog);
    s->word = word;
    s->next = b->systems;
    b->systems = s;
    return s;
}

static void backlog_tell_held(struct backlog *b, struct system_backlog *s, int bit)
{
    AUTO(buf_done) struct buf word = BUF_INIT(32);
    struct metric *m = &s->metrics[bit];

    if (m->name == NULL && s->held[bit] == 0)
        return;
    if (m->name == NULL) {
        held_reasons_print(1u << bit, &word);
        (void)snprintf(s->labels[bit], LABELS, "system=\"%.*s\",reason=\"%s\"",
                       STR_ARG(name_text(b->o.store, s->word)), word.ptr);
        *m = (struct metric){ .name = "waybill_held_deliveries",
                              .help = "Deliveries that are held, by system and reason; looked at "
                                      "now and then.",
                              .labels = s->labels[bit],
                              .type = METRIC_GAUGE };
        metrics_register(m);
    }
    metric_set(m, s->held[bit]);
}

static void add_lane(struct backlog *b, const struct queue_depth *d)
{
    struct system_backlog *s;
    int64_t system, endpoint;

    if (!queue_target(b->o.store, d->queue, &system, &endpoint))
        return;
    unsigned why = dispatch_held_why(b->dispatch, system, endpoint);

    s = get(b, system);
    s->ready += d->ready;
    s->later += d->later;
    for (int i = 0; i < REASONS; i++)
        if ((why >> i & 1) != 0)
            s->held[i] += d->ready;
}

/* On SQLite a queue still has the tasks that are claimed, so these are not counted twice. */
static void add_aloft(struct backlog *b, const struct aloft_count *c)
{
    struct system_backlog *s = get(b, c->system);
    int64_t twice = c->waiting < s->ready ? c->waiting : s->ready;

    s->sending += c->total;
    s->ready -= twice;
}

static int64_t waiting_of(const struct system_backlog *s)
{
    return s->ready + s->later + s->sending;
}

static int64_t per_hour_of(const struct system_backlog *s)
{
    return forecast_per_hour(&s->forecast) + s->elsewhere;
}

/* At the rate of this node, and of the others. */
static int64_t gone_of(const struct system_backlog *s, int64_t begin_us)
{
    int64_t n = waiting_of(s), rate = per_hour_of(s);

    if (s->elsewhere == 0 || n == 0)
        return forecast_gone_us(&s->forecast, n, begin_us);
    return begin_us + (int64_t)((double)n * 3600 * CLOCK_S / (double)rate);
}

/* Counts of other nodes within the last minutes, as a rate. */
static bool read_elsewhere(struct backlog *b, struct err *err)
{
    struct chart_count *sent = xcalloc(CHART_COUNTS_MOST, sizeof *sent);
    int64_t wall = clock_wall_us(), from = (wall / MINUTE_US - ELSEWHERE_MINUTES) * MINUTE_US;
    size_t n;
    bool ok = chart_others(b->o.store, from, wall, sent, &n, err);

    for (struct system_backlog *s = b->systems; s != NULL; s = s->next)
        s->elsewhere = 0;
    for (size_t i = 0; ok && i < n; i++)
        if (sent[i].kind == WAY_SENT)
            get(b, sent[i].two)->elsewhere += sent[i].n * 60 * MINUTE_US / (wall - from);
    free(sent);
    return ok;
}

static void backlog_sample(struct backlog *b, struct system_backlog *s, int64_t now_us)
{
    int64_t ask;

    for (int i = 0; i < REASONS; i++)
        backlog_tell_held(b, s, i);
    if (s->sampled_us != 0 && now_us - s->sampled_us < SAMPLE_US)
        return;
    s->sampled_us = now_us;
    forecast_note(&s->forecast, dispatch_delivered(b->dispatch, s->word), now_us,
                  govern_why(b->o.govern, s->word, now_us, &ask) != 0);
}

/* Checks whether the backlog can be sent within the windows; if not, it grows for ever. */
static void look_at_window(struct backlog *b, struct system_backlog *s, const struct plan *p)
{
    const struct plan_system *system = plan_system_find(p, s->word);
    int64_t now = govern_time(b->o.govern).early_us;
    int64_t gone = gone_of(s, now);
    bool short_of = system != NULL && system->windows != NULL && gone > now &&
                    !window_set_fits(system->windows, now, gone - now);
    struct str name = name_text(b->o.store, s->word);

    alerts_see_if(b->o.alerts, ALERT_WINDOW_TOO_SHORT, name, short_of,
                  "at this rate what waits is not gone when its window closes");
    if (!reminder_is_due(&s->too_short, short_of, now))
        return;
    log_event(LOG_WARN, "window.short", kv_str("system", name), kv_int("waiting", waiting_of(s)),
              kv_int("per_hour", per_hour_of(s)),
              kv_z("hint", "At this rate they are not gone when its window closes: open it for "
                           "longer, or raise its limits."));
    mishaps_note(b->o.mishaps, "window_short", "system", name,
                 "its window is too short for what waits");
}

/* Also systems without a backlog, so that their rate is known when there is one. */
static void backlog_add_configured(struct backlog *b, const struct plan *p)
{
    for (size_t i = 0; i < p->system_count; i++)
        (void)get(b, p->systems[i].word);
}

static bool backlog_count(struct backlog *b, struct err *err)
{
    struct queue_depth *depths = xcalloc(QUEUE_DEPTHS_MOST, sizeof *depths);
    struct aloft_count *aloft = xcalloc(ALOFT_COUNTS_MOST, sizeof *aloft);
    int64_t now = clock_mono_us();
    size_t n, aloft_n;
    bool ok = queue_depths(b->o.store, depths, QUEUE_DEPTHS_MOST, &n, err) &&
              aloft_counts(b->o.store, aloft, ALOFT_COUNTS_MOST, &aloft_n, err) &&
              read_elsewhere(b, err);

    if (ok) {
        struct plan *plan = road_plan(b->o.road);

        backlog_add_configured(b, plan);
        for (struct system_backlog *s = b->systems; s != NULL; s = s->next) {
            s->ready = s->later = s->sending = 0;
            memset(s->held, 0, sizeof s->held);
        }
        for (size_t i = 0; i < n; i++)
            add_lane(b, &depths[i]);
        for (size_t i = 0; i < aloft_n; i++)
            add_aloft(b, &aloft[i]);
        for (struct system_backlog *s = b->systems; s != NULL; s = s->next)
            backlog_sample(b, s, now);
        for (struct system_backlog *s = b->systems; s != NULL; s = s->next)
            look_at_window(b, s, plan);
        plan_unref(plan);
        b->looked_us = now;
    }
    free(aloft);
    free(depths);
    return ok;
}

/* ---- for callers ---- */

bool backlog_look(struct backlog *b, struct err *err)
{
    (void)pthread_mutex_lock(&b->mutex);
    bool ok =
        (b->looked_us != 0 && clock_mono_us() - b->looked_us < LOOK_US) || backlog_count(b, err);

    (void)pthread_mutex_unlock(&b->mutex);
    return ok;
}

void backlog_of(struct backlog *b, int64_t system, int64_t begin_us, struct backlog_view *ret)
{
    *ret = (struct backlog_view){ 0 };
    (void)pthread_mutex_lock(&b->mutex);
    const struct system_backlog *s = backlog_find(b, system);

    if (s != NULL)
        *ret = (struct backlog_view){ .ready = s->ready,
                                      .later = s->later,
                                      .per_hour = per_hour_of(s),
                                      .sending = s->sending,
                                      .gone_us = gone_of(s, begin_us) };
    (void)pthread_mutex_unlock(&b->mutex);
}
