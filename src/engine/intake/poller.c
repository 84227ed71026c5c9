/* poller.c - which node polls which gateway, when, and when the ledger may forget.
 *
 * Problem.  A polling gateway must be polled by one node at a time, although every node has it in
 * its configuration.  A poll blocks (network file systems, large files), so a slow gateway must not
 * delay the others, and a new configuration must not interrupt a poll.  The ledger of `after: keep`
 * must not grow for ever, but a source that still lies there must never be taken for a new one.
 *
 * Method.  One duty per gateway.  The poller's thread only keeps the time: a due duty is submitted
 * to the pool, at most POLLS_MOST at once.  On the pool the duty adopts a new configuration if
 * there is one, takes or renews the gateway's turn (store/govern/ledger.h: a row with a node and an
 * end) and calls the connector, which stores what it finds through core/deposit.h.  A failed poll
 * is repeated with exponential back-off and jitter.
 *
 * Invariants
 *   (1) `busy` is set by the poller's thread before the submit and cleared by the pool thread at
 *       the end, both under the mutex: a duty runs on one thread at a time, which meanwhile owns
 *       all fields that the mutex does not guard.
 *   (2) A duty is freed only by its own run, when it began as `gone` and still is, or after
 *       poller_stop().
 *   (3) A new configuration is adopted only between two polls: poller_use() leaves a reference in
 *       `fresh`, and the end of a poll does not move due_us while there is one.
 *   (4) Notes of the ledger are swept only right after a poll that saw every source, and only if
 *       for FORGET_EVERY_US no poll failed, was skipped or began under another configuration.
 *
 * Why (4) is enough.  A connector may remember that a source is known for DEPOSIT_KNOWN_US, half of
 * FORGET_EVERY_US; then it asks the ledger again, which renews a note that is older than a day.  So
 * after such a period the note of each source that still lies there is a day and some hours old at
 * most, and a limit of a week is safe.  A wall clock that is set forward, or a machine that slept,
 * would age all notes at once: if wall time runs ahead of monotonic time by more than STEP_US the
 * period starts again.  A poll that was cut short (full, or the node is busy) neither sweeps nor
 * restarts the period.
 *
 * Crashes.  Nothing here is durable except the turn, which expires after LEASE_US or with its node.
 * A source is removed only after its document is committed.  A source that was committed and not
 * removed is deposited again under the same key, which gives the same document; the key is
 * remembered for a week (DEPOSIT_KEY_PERIOD_US).
 *
 * Races
 *   - Two nodes poll one gateway, because one stalled longer than its turn: each source still has
 *     one key, so both get the same document.  The late node notices at its next deposit (hold())
 *     and gives up.
 *   - A gateway is removed and comes back while its turn is being released: the duty is not freed
 *     (2), and `fresh` makes it run again at once.
 *   - poller_stop() during polls: connectors ask `stopping` and end early; the thread waits until
 *     no duty is busy, and only then are the turns released.
 */
#include "engine/intake/poller.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/require.h"
#include "base/thread.h"
#include "base/wait.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "engine/intake/deposit.h"
#include "engine/plan/folders.h"
#include "engine/tally/mishaps.h"
#include "engine/threads/pool.h"
#include "store/govern/failing.h"
#include "store/govern/ledger.h"
#include "store/people/secret.h"
#include "store/store.h"

enum {
    FAILURES_TOLD = 3, /* failures in a row before poller_troubles() reports */
    COMPLAINTS = 256,  /* slots per gateway to log each complaint once */
    DOUBLINGS_MOST = 8,
    WAIT_US = CLOCK_S /* the wait while the node is busy or closed */
};

#define LEASE_US        (INT64_C(60) * CLOCK_S)
#define BACK_OFF_MOST   (INT64_C(300) * CLOCK_S)
#define FORGET_EVERY_US (2 * DEPOSIT_KNOWN_US)
#define STEP_US         (INT64_C(3600) * CLOCK_S) /* tolerated step of the clock */
#define FORGET_AFTER_US (INT64_C(7) * 86400 * CLOCK_S)
#define ARENA_MOST      ((size_t)1 << 20)

/* One gateway.  The mutex guards `busy`, `gone`, `fresh*`, `due_us`, `failures` and `error`; the
 * rest belongs to the pool thread while `busy` is set (1). */
struct duty {
    struct pool_job job;
    struct poller *poller;
    struct duty *next;
    bool busy, gone;
    struct config *fresh; /* a new configuration to adopt; NULL: none */
    int64_t fresh_version, due_us;

    struct config *config;
    const struct config_gateway *gateway;
    const struct gateway_type *type;
    void *self; /* the connector; NULL: it could not be set up */
    struct arena arena;
    int64_t every_us, held_us; /* held_us: when the turn was renewed, monotonic */
    struct depositor depositor;
    struct rate rate, rate_total;
    int64_t whole_since_us; /* since when no poll failed or was skipped, monotonic; 0: none */
    int64_t whole_wall_us;  /* the same moment by the wall clock */
    uint64_t complained[COMPLAINTS];

    int64_t failures; /* in a row */
    char error[200];
    _Atomic int64_t success_us; /* wall clock: the last successful poll, or the start */
    struct metric last_success, errors, accepted, repeated;
    char name[80], labels[128];
};

struct poller {
    struct poller_options o;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool running;
    _Atomic bool stopping;
    struct duty *duties;
    size_t busy;
};

/* ---- one gateway ---- */

static int64_t read_last_success(void *arg)
{
    return (clock_wall_us() - atomic_load(&((struct duty *)arg)->success_us)) / CLOCK_S;
}

static struct duty *duty_new(struct poller *p, const char *name)
{
    struct duty *d = NEW(struct duty);

    d->poller = p;
    d->arena = (struct arena)ARENA_INIT(ARENA_MOST);
    d->success_us = clock_wall_us();
    (void)snprintf(d->name, sizeof d->name, "%s", name);
    (void)snprintf(d->labels, sizeof d->labels, "gateway=\"%s\"", name);
    d->last_success = (struct metric){ .name = "waybill_gateway_last_success_seconds",
                                       .help = "How long ago a look of the gateway went well.",
                                       .labels = d->labels,
                                       .type = METRIC_GAUGE,
                                       .read = read_last_success,
                                       .arg = d };
    d->errors = (struct metric){ .name = "waybill_gateway_errors_total",
                                 .help = "Looks of the gateway that failed.",
                                 .labels = d->labels };
    d->accepted = (struct metric){ .name = "waybill_documents_accepted_total",
                                   .help = "Documents stored and acknowledged.",
                                   .labels = d->labels };
    d->repeated = (struct metric){ .name = "waybill_documents_repeated_total",
                                   .help = "Requests answered by an earlier one with the same key.",
                                   .labels = d->labels };
    metrics_register(&d->last_success);
    metrics_register(&d->errors);
    metrics_register(&d->accepted);
    metrics_register(&d->repeated);
    return d;
}

static void take_down(struct duty *d)
{
    if (d->self != NULL)
        d->type->unmake(d->self);
    d->self = NULL;
    arena_reset(&d->arena);
}

static void duty_free(struct duty *d)
{
    metrics_forget(&d->last_success);
    metrics_forget(&d->errors);
    metrics_forget(&d->accepted);
    metrics_forget(&d->repeated);
    take_down(d);
    arena_done(&d->arena);
    config_unref(d->config);
    config_unref(d->fresh);
    free(d);
}

static const struct gateway_type *poller_type_of(const struct poller *p, const char *kind)
{
    const struct gateway_type *t = connector_gateway(p->o.connectors, str_of(kind));

    return t != NULL && t->look != NULL ? t : NULL;
}

static bool is_for_us(const struct poller *p, const struct config_gateway *g)
{
    return poller_type_of(p, g->kind) != NULL &&
           (g->area == CONFIG_ANYWHERE || g->area == p->o.area);
}

static bool poller_find_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                               struct err *err)
{
    return secret_get(arg, name, a, ret, err);
}

static struct settings poller_settings_of(const struct poller *p, const struct gateway_type *type,
                                          const struct config_gateway *g, struct arena *a)
{
    return (struct settings){ .node = g->node,
                              .common = grammar_gateway,
                              .own = type->kind.keys,
                              .secret = poller_find_secret,
                              .secret_arg = p->o.store,
                              .arena = a };
}

static bool poller_set_up(struct duty *d, struct err *err)
{
    struct settings s = poller_settings_of(d->poller, d->type, d->gateway, &d->arena);

    arena_reset(&d->arena);
    s.folders = folders_port(d->poller->o.store, NAME_GATEWAY, d->name, false, &d->arena);
    return name_add(d->poller->o.store, NAME_GATEWAY, str_of(d->name), &d->depositor.word, err) &&
           d->type->make(&s, &d->self, err);
}

/* ---- callbacks of the depositor ---- */

static const char *closed(void *arg)
{
    const struct poller_options *o = &((struct duty *)arg)->poller->o;

    return o->closed != NULL ? o->closed(o->arg) : NULL;
}

static bool poller_is_stopping(void *arg)
{
    return atomic_load(&((struct duty *)arg)->poller->stopping);
}

static bool poller_take_turn(struct duty *d, bool *ret_ours, struct err *err)
{
    if (!poll_turn(d->poller->o.store, d->depositor.word, LEASE_US, ret_ours, err))
        return false;
    d->held_us = clock_mono_us();
    return true;
}

static bool hold(void *arg, struct err *err)
{
    struct duty *d = arg;
    bool ours = true;

    if (clock_mono_us() - d->held_us < LEASE_US / 4)
        return true;
    if (!poller_take_turn(d, &ours, err))
        return false;
    return ours || err_set(err, ERR_TRANSIENT, 0, "another node took over");
}

/* Logs each name and reason once, unless a hash collision evicted it. */
static void complain(void *arg, struct str name, const char *why, const char *hint)
{
    struct duty *d = arg;
    AUTO(buf_done) struct buf text = BUF_INIT(4096);
    uint64_t hash;

    buf_put(&text, name);
    buf_printf(&text, "\n%.500s", why);
    struct sha256 sha = digest_of(buf_view(&text));

    memcpy(&hash, sha.bytes, sizeof hash);
    if (d->complained[hash % COMPLAINTS] == hash)
        return;
    d->complained[hash % COMPLAINTS] = hash;
    log_event(LOG_WARN, "gateway.refuse", kv_z("gateway", d->name), kv_str("name", name),
              kv_z("why", why), kv_z("hint", hint));
}

static void use_fresh(struct duty *d, struct config *fresh, int64_t version)
{
    take_down(d);
    config_unref(d->config);
    d->config = fresh;
    d->gateway = config_gateway_find(fresh, str_of(d->name));
    require(d->gateway != NULL);
    d->type = poller_type_of(d->poller, d->gateway->kind);
    d->depositor = (struct depositor){ .store = d->poller->o.store,
                                       .road = d->poller->o.road,
                                       .gateway = d->name,
                                       .config = version,
                                       .size_most = (int64_t)d->gateway->size_bytes,
                                       .limit = d->gateway->rate,
                                       .total = d->gateway->total,
                                       .burst = d->gateway->burst,
                                       .rate = &d->rate,
                                       .rate_total = &d->rate_total,
                                       .accepted = &d->accepted,
                                       .repeated = &d->repeated,
                                       .closed = closed,
                                       .hold = hold,
                                       .stopping = poller_is_stopping,
                                       .complain = complain,
                                       .arg = d };
    memset(d->complained, 0, sizeof d->complained);
    d->whole_since_us = 0;
}

/* ---- a poll ---- */

static int64_t back_off_us(const struct duty *d)
{
    int64_t doublings = d->failures < DOUBLINGS_MOST ? d->failures : DOUBLINGS_MOST;
    int64_t most = d->every_us << doublings;

    if (most > BACK_OFF_MOST || most <= 0)
        most = BACK_OFF_MOST;
    if (most < d->every_us)
        most = d->every_us;
    return d->every_us + (int64_t)(chance_u64() % (uint64_t)most) / 2;
}

/* After a poll that failed or was skipped: restarts the period of (4) and returns when to poll
 * again. */
static int64_t saw_nothing(struct duty *d, int64_t wait_us)
{
    d->whole_since_us = 0;
    return wait_us;
}

/* Tells the other nodes; a store that fails does not matter here, it is told elsewhere. */
static void share_trouble(struct duty *d, bool failing)
{
    struct store *s = d->poller->o.store;
    struct err err = { 0 };

    if (d->depositor.word != 0)
        (void)(failing ? failing_put(s, d->depositor.word, str_of(d->error), &err)
                       : failing_drop(s, d->depositor.word, &err));
}

/* Returns when to poll again. */
static int64_t note_failure(struct duty *d, const struct err *err)
{
    bool first, other;

    metric_add(&d->errors, 1);
    (void)pthread_mutex_lock(&d->poller->mutex);
    first = d->failures++ == 0;
    other = first || strcmp(d->error, err->text) != 0;
    (void)snprintf(d->error, sizeof d->error, "%s", err->text);
    (void)pthread_mutex_unlock(&d->poller->mutex);
    if (other)
        share_trouble(d, true);
    if (d->poller->o.mishaps != NULL)
        mishaps_note(d->poller->o.mishaps, "gateway_failing", "gateway", str_of(d->name),
                     err->text);
    if (first)
        log_event(LOG_WARN, "gateway.fail", kv_z("gateway", d->name), kv_z("why", err->text),
                  kv_z("where", err->where != NULL ? err->where : ""));
    return saw_nothing(d, back_off_us(d));
}

/* Returns how many there were. */
static int64_t forget_failures(struct duty *d)
{
    (void)pthread_mutex_lock(&d->poller->mutex);
    int64_t failures = d->failures;

    d->failures = 0;
    (void)pthread_mutex_unlock(&d->poller->mutex);
    if (failures > 0)
        share_trouble(d, false);
    return failures;
}

static void note_success(struct duty *d)
{
    int64_t failures = forget_failures(d);

    atomic_store(&d->success_us, clock_wall_us());
    if (failures > 0)
        log_event(LOG_INFO, "gateway.recover", kv_z("gateway", d->name),
                  kv_int("failures", failures));
}

/* After a poll that saw every source: sweeps the ledger when the period of (4) is over.  A wall
 * clock that ran ahead restarts the period. */
static void forget_vanished(struct duty *d)
{
    int64_t every_us =
        d->poller->o.forget_every_us > 0 ? d->poller->o.forget_every_us : FORGET_EVERY_US;
    int64_t now_us = clock_mono_us(), wall_us = clock_wall_us();
    int64_t whole_us = now_us - d->whole_since_us;
    bool goes_on = d->whole_since_us != 0 && wall_us - d->whole_wall_us < whole_us + STEP_US;
    struct err err = { 0 };

    if (goes_on && whole_us <= every_us)
        return;
    d->whole_since_us = now_us;
    d->whole_wall_us = wall_us;
    if (goes_on &&
        !ledger_sweep(d->poller->o.store, d->depositor.word, wall_us - FORGET_AFTER_US, &err))
        log_event(LOG_WARN, "keeper.fail", kv_z("duty", "ledger"), kv_z("why", err.text));
}

static void give_turn_back(struct duty *d)
{
    struct err err = { 0 };

    if (d->depositor.word != 0)
        (void)poll_turn_end(d->poller->o.store, d->depositor.word, &err); /* or it expires */
}

static int64_t poller_look(struct duty *d)
{
    struct err err = { 0 };
    int64_t taken = 0;
    bool ours = false;

    if (closed(d) != NULL)
        return saw_nothing(d, WAIT_US); /* the node reports the reason itself */
    if (d->self == NULL && !poller_set_up(d, &err))
        return note_failure(d, &err);
    if (!poller_take_turn(d, &ours, &err))
        return note_failure(d, &err);
    if (!ours) { /* another node polls and reports */
        (void)forget_failures(d);
        return saw_nothing(d, d->every_us);
    }
    if (!d->type->look(d->self, &deposit_port, &d->depositor, &taken, &err)) {
        if (closed(d) != NULL)
            return saw_nothing(d, WAIT_US);
        if (err.kind != ERR_LIMIT || err.sys != DEPOSIT_WAIT) {
            give_turn_back(d); /* another node may reach what this one does not */
            return note_failure(d, &err);
        }
        note_success(d);
        return WAIT_US;
    }
    note_success(d);
    if (taken >= DEPOSIT_LOOK_MOST)
        return 0; /* there may be more: poll again at once */
    if (!poller_is_stopping(d))
        forget_vanished(d);
    return d->every_us;
}

static void read_every(struct duty *d)
{
    struct settings s = poller_settings_of(d->poller, d->type, d->gateway, &d->arena);
    struct err err = { 0 };

    if (!settings_duration(&s, "every", &d->every_us, &err))
        d->every_us = CLOCK_S; /* poller_set_up() reports what is wrong */
}

/* On a thread of the pool. */
static void poller_on_pool(struct pool_job *job)
{
    struct duty *d = container_of(job, struct duty, job);
    struct poller *p = d->poller;
    int64_t wait_us = 0;

    (void)pthread_mutex_lock(&p->mutex);
    struct config *fresh = d->fresh;
    int64_t version = d->fresh_version;
    bool gone = d->gone;

    d->fresh = NULL;
    (void)pthread_mutex_unlock(&p->mutex);
    if (fresh != NULL) {
        use_fresh(d, fresh, version);
        read_every(d);
    }
    if (gone && d->failures > 0)
        share_trouble(d, false);
    if (gone)
        give_turn_back(d);
    else if (!poller_is_stopping(d))
        wait_us = poller_look(d);
    (void)pthread_mutex_lock(&p->mutex);
    d->busy = false;
    p->busy--;
    if (d->fresh == NULL)
        d->due_us = clock_mono_us() + wait_us;
    if (gone && d->gone) { /* not configured again meanwhile */
        struct duty **at = &p->duties;

        while (*at != d)
            at = &(*at)->next;
        *at = d->next;
        duty_free(d);
    }
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->mutex);
}

/* ---- the thread ---- */

/* With the mutex held: submits due duties; returns when the next one is due. */
static int64_t poller_begin_due(struct poller *p)
{
    int64_t now = clock_mono_us(), next = now + CLOCK_S;

    for (struct duty *d = p->duties; d != NULL; d = d->next) {
        if (d->busy)
            continue;
        if (d->due_us <= now && p->busy < POLLS_MOST) {
            d->busy = true;
            p->busy++;
            d->job = (struct pool_job){ .run = poller_on_pool };
            pool_submit(p->o.pool, &d->job);
        } else if (d->due_us > now && d->due_us < next) {
            next = d->due_us;
        }
    }
    return next;
}

static void *poller_main(void *arg)
{
    struct poller *p = arg;

    (void)pthread_mutex_lock(&p->mutex);
    while (!atomic_load(&p->stopping))
        (void)wait_until(&p->changed, &p->mutex, poller_begin_due(p));
    while (p->busy > 0)
        (void)pthread_cond_wait(&p->changed, &p->mutex);
    (void)pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* ---- life ---- */

struct poller *poller_new(const struct poller_options *options)
{
    struct poller *p = NEW(struct poller);

    p->o = *options;
    (void)pthread_mutex_init(&p->mutex, NULL);
    (void)pthread_cond_init(&p->changed, NULL);
    return p;
}

void poller_run(struct poller *p)
{
    thread_start(&p->thread, "poller", poller_main, p);
    p->running = true;
}

void poller_stop(struct poller *p)
{
    if (p == NULL || !p->running)
        return;
    (void)pthread_mutex_lock(&p->mutex);
    atomic_store(&p->stopping, true);
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->mutex);
    (void)pthread_join(p->thread, NULL);
    p->running = false;
    for (struct duty *d = p->duties; d != NULL; d = d->next)
        give_turn_back(d);
}

void poller_free(struct poller *p)
{
    if (p == NULL)
        return;
    for (struct duty *d = p->duties, *next; d != NULL; d = next) {
        next = d->next;
        duty_free(d);
    }
    free(p);
}

/* ---- configuration ---- */

static struct duty *duty_of(struct poller *p, const char *name)
{
    struct duty *d = p->duties;

    while (d != NULL && !str_is(str_of(d->name), name))
        d = d->next;
    if (d == NULL) {
        d = duty_new(p, name);
        d->next = p->duties;
        p->duties = d;
    }
    return d;
}

void poller_use(struct poller *p, struct config *config, int64_t version)
{
    int64_t now = clock_mono_us();

    (void)pthread_mutex_lock(&p->mutex);
    for (struct duty *d = p->duties; d != NULL; d = d->next) {
        d->gone = true;
        d->due_us = now;
    }
    for (size_t i = 0; i < config->gateway_count; i++) {
        if (!is_for_us(p, &config->gateways[i]))
            continue;
        struct duty *d = duty_of(p, config->gateways[i].name);

        d->gone = false;
        config_unref(d->fresh);
        d->fresh = config_ref(config);
        d->fresh_version = version;
        d->due_us = now;
    }
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->mutex);
}

void poller_try(struct poller *p, const struct config *config, struct problem_list *problems)
{
    for (size_t i = 0; i < config->gateway_count; i++) {
        const struct config_gateway *g = &config->gateways[i];
        const struct gateway_type *type = poller_type_of(p, g->kind);
        AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
        struct err err = { 0 };
        void *self;

        if (!is_for_us(p, g))
            continue;
        struct settings s = poller_settings_of(p, type, g, &arena);

        s.folders = folders_port(p->o.store, NAME_GATEWAY, g->name, true, &arena);
        if (type->make(&s, &self, &err))
            type->unmake(self);
        else if (err.kind == ERR_CONFIG)
            problem_add(problems, g->place, NULL, "%s", err.text);
    }
}

void poller_try_again(struct poller *p, struct str gateway)
{
    (void)pthread_mutex_lock(&p->mutex);
    for (struct duty *d = p->duties; d != NULL; d = d->next)
        if (str_is(gateway, d->name))
            d->due_us = clock_mono_us();
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->mutex);
}

void poller_why(struct poller *p, struct str gateway, struct buf *to)
{
    (void)pthread_mutex_lock(&p->mutex);
    for (const struct duty *d = p->duties; d != NULL; d = d->next)
        if (d->failures > 0 && !d->gone && str_is(gateway, d->name))
            buf_puts(to, d->error);
    (void)pthread_mutex_unlock(&p->mutex);
}

void poller_troubles(struct poller *p, struct buf *to)
{
    (void)pthread_mutex_lock(&p->mutex);
    for (const struct duty *d = p->duties; d != NULL; d = d->next)
        if (d->failures >= FAILURES_TOLD && to->len + 500 < to->cap)
            buf_printf(to, "gateway %s has failed %lld times: %s\n", d->name,
                       (long long)d->failures, d->error);
    (void)pthread_mutex_unlock(&p->mutex);
}
