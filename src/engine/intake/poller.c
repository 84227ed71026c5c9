/* poller.c - which node polls which gateway, and when.
 *
 * Problem.  A polling gateway must be polled by one node at a time, although every node has it in
 * its configuration.  A poll blocks (network file systems, large files), so a slow gateway must not
 * delay the others, and a new configuration must not interrupt a poll.
 *
 * Method.  One duty per gateway.  The poller's thread only keeps the time: it gives a due duty the
 * new configuration if there is one, and submits its post, the gateway as that configuration has
 * it, to the crew of looks: POLLS_MOST at once, not counting those that wait in silence, perhaps
 * for a server that hangs.  There the post takes or renews the gateway's turn
 * (store/govern/ledger.h: a row with a node and an end) and calls the connector, which stores what
 * it finds through core/deposit.h.  A failed poll is repeated with exponential back-off and jitter.
 *
 * When places are scarce, the duty that was submitted longest ago comes first: one that was
 * submitted goes to the end of the list.  So gateways that always have more (a full poll is
 * repeated at once) share the places with the others.
 *
 * A poll that hangs is given up (threads/crew.h): its post is left to the lost thread, the duty has
 * failed, and the next poll gets a new post.  While LOOKS_LOST_MOST polls of a gateway hang, none
 * begins.  What a lost thread still does has no effect: deposits and the turn are refused to it.
 *
 * Invariants
 *   (1) `busy` is set by the poller's thread before the submit and cleared when the poll has ended
 *       or was given up, both under the mutex: a post is used by one thread at a time.
 *   (2) A duty is freed only when its last poll, which began as `gone`, has given the turn back,
 *       the gateway is still gone, and no lost thread has one of its posts; or after poller_stop().
 *   (3) A new configuration is adopted only between two polls: poller_use() leaves it in `fresh`,
 *       and the end of a poll does not move due_us while there is one.
 *   (4) Notes of the ledger are swept only right after a poll that saw every source, and only if
 *       for a long period no poll failed, was skipped or began under another configuration
 *       (polled.c says why that is enough).  A poll that was cut short (full, or the node is busy)
 *       neither sweeps nor restarts the period.
 *
 * Crashes.  Nothing here is durable except the turn, which expires after LEASE_US or with its node.
 * A source is removed only after its document is committed; one that was not removed is deposited
 * again under the same key, which gives the same document, for a week (DEPOSIT_KEY_PERIOD_US).
 *
 * Races
 *   - Two nodes poll one gateway, because one stalled longer than its turn: each source still has
 *     one key, so both get the same document.  The late node notices at its next deposit (hold())
 *     and gives up.
 *   - A gateway is removed and comes back while its turn is being released: the duty is not freed
 *     (2), and `fresh` makes it run again at once.
 *   - poller_stop() during polls: connectors ask `stopping` and end early, or are given up; the
 *     thread waits until no duty is busy, and only then are the turns released.
 */
#include "engine/intake/poller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "base/require.h"
#include "base/thread.h"
#include "base/wait.h"
#include "core/connector.h"
#include "engine/intake/poller_state.h"
#include "engine/threads/crew.h"
#include "engine/threads/lines.h"
#include "store/govern/ledger.h"
#include "store/store.h"

enum {
    WAIT_US = CLOCK_S,         /* the wait while the node is busy or closed */
    STILL_US = 500 * CLOCK_MS, /* a poll without a sign of life for so long waits for others */
    LOOKS_LOST_MOST = 2        /* polls of one gateway that hang before no more begin */
};

#define LEASE_US   (INT64_C(60) * CLOCK_S)
#define ARENA_MOST ((size_t)1 << 20)

/* ---- one gateway ---- */

static void post_run(struct crew_call *call);
static void post_done(struct crew_call *call);
static void post_lost(struct crew_call *call, bool committed);
static void post_back(struct crew_call *call);

static struct duty *duty_new(struct poller *p, const char *name)
{
    struct duty *d = NEW(struct duty);

    d->poller = p;
    (void)snprintf(d->name, sizeof d->name, "%s", name);
    poll_metrics_init(&d->metrics, d->name);
    return d;
}

static void poller_post_free(struct poller_post *o)
{
    if (o == NULL)
        return;
    if (o->self != NULL)
        o->type->unmake(o->self);
    arena_done(&o->arena);
    config_unref(o->config);
    lines_unref(o->lines);
    free(o);
}

static void duty_free(struct duty *d)
{
    poll_metrics_done(&d->metrics);
    poller_post_free(d->post);
    config_unref(d->config);
    config_unref(d->fresh);
    free(d);
}

/* Connections that are kept with other settings are closed. */
static void poller_use_line(struct poller_post *o, struct polled_line line)
{
    struct duty *d = o->duty;

    (void)pthread_mutex_lock(&d->poller->mutex);
    struct polled_line before = d->line;

    d->line = line;
    (void)pthread_mutex_unlock(&d->poller->mutex);
    polled_line_change(o->lines, &before, &line);
}

static bool poller_set_up(struct poller_post *o, struct err *err)
{
    struct poller *p = o->duty->poller;

    arena_reset(&o->arena);
    struct settings s =
        polled_settings(&p->o, o->config, o->gateway, false, &o->call.call, &o->arena);

    if (!o->type->make(&s, &o->self, err))
        return false;
    poller_use_line(o, polled_line_of(o->type, o->self));
    return true;
}

/* ---- callbacks of the depositor ---- */

static const char *closed(void *arg)
{
    const struct poller_options *o = &((struct poller_post *)arg)->duty->poller->o;

    return o->closed != NULL ? o->closed(o->arg) : NULL;
}

static bool poller_is_stopping(void *arg)
{
    return atomic_load(&((struct poller_post *)arg)->duty->poller->stopping);
}

static bool poller_take_turn(struct poller_post *o, bool *ret_ours, struct err *err)
{
    if (!poll_turn(o->duty->poller->o.store, o->depositor.word, LEASE_US, ret_ours, err))
        return false;
    o->held_us = clock_mono_us();
    return true;
}

/* Asked by the depositor, within what is our own (deposit.c). */
static bool hold(void *arg, struct err *err)
{
    struct poller_post *o = arg;
    bool ours = true;

    if (clock_mono_us() - o->held_us < LEASE_US / 4)
        return true;
    if (!poller_take_turn(o, &ours, err))
        return false;
    return ours || err_set(err, ERR_TRANSIENT, 0, "another node took over");
}

static void complain(void *arg, struct str name, const char *why, const char *hint)
{
    struct poller_post *o = arg;

    if (!call_is_given_up(&o->call.call))
        polled_complain(&o->complaints, o->duty->name, name, why, hint);
}

static struct depositor depositor_of(struct poller_post *o, int64_t version)
{
    struct duty *d = o->duty;

    return (struct depositor){ .store = d->poller->o.store,
                               .road = d->poller->o.road,
                               .gateway = d->name,
                               .word = d->word,
                               .config = version,
                               .size_most = (int64_t)o->gateway->size_bytes,
                               .limit = o->gateway->rate,
                               .total = o->gateway->total,
                               .burst = o->gateway->burst,
                               .rate = &d->rate,
                               .rate_total = &d->rate_total,
                               .accepted = &d->metrics.accepted,
                               .repeated = &d->metrics.repeated,
                               .call = &o->call.call,
                               .closed = closed,
                               .hold = hold,
                               .stopping = poller_is_stopping,
                               .complain = complain,
                               .arg = o };
}

static struct poller_post *poller_post_new(struct duty *d)
{
    struct poller_post *o = NEW(struct poller_post);

    *o = (struct poller_post){ .duty = d,
                               .config = config_ref(d->config),
                               .lines = lines_ref(d->poller->lines),
                               .gateway = config_gateway_find(d->config, str_of(d->name)),
                               .arena = ARENA_INIT(ARENA_MOST),
                               .call = { .call = { .stop = &d->poller->stopping,
                                                   .egress = d->poller->o.egress,
                                                   .lines = lines_port(d->poller->lines) },
                                         .run = post_run,
                                         .done = post_done,
                                         .lost = post_lost,
                                         .back = post_back } };
    require(o->gateway != NULL);
    o->type = polled_type(&d->poller->o, o->gateway->kind);
    o->depositor = depositor_of(o, d->version);
    polled_read_times(&d->poller->o, o->config, o->gateway, &o->arena, &o->every_us,
                      &o->call.patience_us);
    return o;
}

/* ---- a poll ---- */

/* With the mutex held.  Returns the failures in a row. */
static int64_t count_failure(struct duty *d, const char *why)
{
    metric_add(&d->metrics.errors, 1);
    (void)snprintf(d->error, sizeof d->error, "%s", why);
    return ++d->failures;
}

/* Returns when to poll again. */
static int64_t note_failure(struct poller_post *o)
{
    struct duty *d = o->duty;

    (void)pthread_mutex_lock(&d->poller->mutex);
    bool told = d->failures > 0 && strcmp(d->error, o->err.text) == 0;
    int64_t failures = count_failure(d, o->err.text);

    (void)pthread_mutex_unlock(&d->poller->mutex);
    if (!told)
        polled_tell_trouble(&d->poller->o, o->depositor.word, o->err.text);
    polled_note_mishap(&d->poller->o, d->name, o->err.text);
    if (failures == 1)
        log_event(LOG_WARN, "gateway.fail", kv_z("gateway", d->name), kv_z("why", o->err.text),
                  kv_z("where", o->err.where != NULL ? o->err.where : ""));
    return polled_back_off_us(o->every_us, failures);
}

/* Returns how many there were. */
static int64_t forget_failures(struct poller_post *o)
{
    struct duty *d = o->duty;

    (void)pthread_mutex_lock(&d->poller->mutex);
    int64_t failures = d->failures;

    d->failures = 0;
    (void)pthread_mutex_unlock(&d->poller->mutex);
    if (failures > 0)
        polled_tell_recovery(&d->poller->o, o->depositor.word);
    return failures;
}

static void note_success(struct poller_post *o)
{
    int64_t failures = forget_failures(o);

    atomic_store(&o->duty->metrics.success_us, clock_wall_us());
    if (failures > 0)
        log_event(LOG_INFO, "gateway.recover", kv_z("gateway", o->duty->name),
                  kv_int("failures", failures));
}

static enum look_result skip(struct poller_post *o, int64_t wait_us)
{
    o->wait_us = wait_us;
    return LOOK_SKIPPED;
}

/* Tells the other nodes of a poll before this one that was given up: the crew's timekeeper, which
 * gave it up, must not wait for the store. */
static void share_hang(struct poller_post *o)
{
    struct duty *d = o->duty;
    char why[sizeof d->error];

    (void)pthread_mutex_lock(&d->poller->mutex);
    bool unshared = d->unshared;

    d->unshared = false;
    memcpy(why, d->error, sizeof why);
    (void)pthread_mutex_unlock(&d->poller->mutex);
    if (unshared)
        polled_tell_trouble(&d->poller->o, o->depositor.word, why);
}

/* What concerns the store, before the gateway itself is touched. */
static bool poller_prepare(struct poller_post *o, struct err *err)
{
    if (!call_own_begin(&o->call.call, err))
        return false;
    bool ok = o->depositor.word != 0 || name_add(o->duty->poller->o.store, NAME_GATEWAY,
                                                 str_of(o->duty->name), &o->depositor.word, err);

    if (ok)
        share_hang(o);
    call_alive(&o->call.call);
    return ok;
}

static bool poller_begin_turn(struct poller_post *o, bool *ret_ours, struct err *err)
{
    bool ok = call_own_begin(&o->call.call, err) && poller_take_turn(o, ret_ours, err);

    call_alive(&o->call.call);
    return ok;
}

/* A poll that was given up meanwhile ends wherever it notices: what it would use may be gone. */
static enum look_result poller_look(struct poller_post *o)
{
    bool ours = false;

    if (closed(o) != NULL)
        return skip(o, WAIT_US); /* the node reports the reason itself */
    if (!poller_prepare(o, &o->err) || (o->self == NULL && !poller_set_up(o, &o->err)) ||
        !poller_begin_turn(o, &ours, &o->err))
        return LOOK_FAILED;
    if (!ours)
        return LOOK_ELSEWHERE;
    if (o->type->look(o->self, &deposit_port, &o->depositor, &o->taken, &o->err))
        return LOOK_DONE;
    if (!call_own_begin(&o->call.call, &(struct err){ 0 })) /* what follows uses the store */
        return LOOK_FAILED;
    if (closed(o) != NULL)
        return skip(o, WAIT_US);
    if (o->err.kind == ERR_LIMIT && o->err.sys == DEPOSIT_WAIT)
        return LOOK_REFUSED;
    polled_give_turn_back(&o->duty->poller->o, o->depositor.word); /* another node may reach it */
    return LOOK_FAILED;
}

/* On a thread of the crew. */
static void post_run(struct crew_call *call)
{
    struct poller_post *o = container_of(call, struct poller_post, call);

    o->err = (struct err){ 0 };
    o->taken = o->wait_us = 0;
    o->result = LOOK_SKIPPED;
    if (o->gone) {
        call_pause(&call->call);
        (void)forget_failures(o);
        poller_use_line(o, (struct polled_line){ 0 });
        polled_give_turn_back(&o->duty->poller->o, o->depositor.word);
    } else if (!poller_is_stopping(o))
        o->result = poller_look(o);
}

static bool is_hung(struct duty *d)
{
    (void)pthread_mutex_lock(&d->poller->mutex);
    bool hung = d->lost > 0;

    (void)pthread_mutex_unlock(&d->poller->mutex);
    return hung;
}

/* What came of a poll that returned; when to poll again.  A poll that failed or was skipped
 * restarts the period of (4). */
static int64_t post_outcome(struct poller_post *o)
{
    switch (o->result) {
    case LOOK_SKIPPED:
        o->whole.since_us = 0;
        return o->wait_us;
    case LOOK_ELSEWHERE: /* another node polls and reports */
        o->whole.since_us = 0;
        (void)forget_failures(o);
        return o->every_us;
    case LOOK_FAILED:
        o->whole.since_us = 0;
        return note_failure(o);
    case LOOK_REFUSED:
        note_success(o);
        return WAIT_US;
    case LOOK_DONE:
        break;
    }
    if (o->taken == 0 && is_hung(o->duty)) {
        /* It saw nothing while an earlier look hangs, perhaps because that one holds the folder's
         * lock: no sign that the gateway works. */
        o->whole.since_us = 0;
        return o->every_us;
    }
    note_success(o);
    if (o->taken >= DEPOSIT_LOOK_MOST)
        return 0; /* there may be more: poll again at once */
    if (!poller_is_stopping(o))
        polled_forget_vanished(&o->duty->poller->o, &o->whole, o->depositor.word);
    return o->every_us;
}

/* With the mutex held.  Returns the end of the list without it. */
static struct duty **duty_take_out(struct duty *d)
{
    struct duty **at = &d->poller->duties;

    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    while (*at != NULL)
        at = &(*at)->next;
    return at;
}

/* With the mutex held, as the last thing that is done with the duty (2). */
static void take_out_if_over(struct duty *d)
{
    if (!d->gone || !d->released || d->busy || d->lost > 0)
        return;
    (void)duty_take_out(d);
    duty_free(d);
}

/* With the mutex held: the poll is over. */
static void duty_rest(struct duty *d, int64_t wait_us)
{
    struct poller *p = d->poller;

    d->busy = false;
    p->busy--;
    if (d->fresh == NULL)
        d->due_us = clock_mono_us() + wait_us;
    (void)pthread_cond_broadcast(&p->changed);
}

static void post_done(struct crew_call *call)
{
    struct poller_post *o = container_of(call, struct poller_post, call);
    struct duty *d = o->duty;
    struct poller *p = d->poller;
    int64_t wait_us = o->gone ? WAIT_US : post_outcome(o);
    bool here = o->result == LOOK_DONE || o->result == LOOK_FAILED || o->result == LOOK_REFUSED;

    (void)pthread_mutex_lock(&p->mutex);
    if (here)
        duty_count_note(&d->count, clock_mono_us() - d->began_us,
                        o->result == LOOK_FAILED ? o->err.text : NULL);
    d->every_us = o->every_us;
    d->word = o->depositor.word;
    duty_rest(d, wait_us);
    d->released = o->gone && d->gone; /* not configured again meanwhile */
    take_out_if_over(d);
    (void)pthread_mutex_unlock(&p->mutex);
}

/* ---- a poll that hangs ---- */

/* On the crew's timekeeper, while the poll still hangs. */
static void post_lost(struct crew_call *call, bool committed)
{
    struct poller_post *o = container_of(call, struct poller_post, call);
    struct duty *d = o->duty;
    struct poller *p = d->poller;
    int64_t ms = (clock_mono_us() - call->began_us) / CLOCK_MS;
    char why[120];

    (void)committed;
    (void)snprintf(
        why, sizeof why, "the look did not go on for %lld ms, and hangs still",
        (long long)(call->patience_us < ms * CLOCK_MS ? call->patience_us / CLOCK_MS : ms));
    log_event(LOG_WARN, "gateway.hang", kv_z("gateway", d->name), kv_int("ms", ms),
              kv_z("hint", "The folder does not answer and cannot be interrupted: its thread is "
                           "given up. Look after the share or the server behind it."));
    polled_note_mishap(&p->o, d->name, why);
    (void)pthread_mutex_lock(&p->mutex);
    d->post = NULL; /* it is the lost thread's now */
    d->lost++;
    d->unshared = true;
    duty_count_note(&d->count, clock_mono_us() - d->began_us, why);
    duty_rest(d, polled_back_off_us(o->every_us, count_failure(d, why)));
    (void)pthread_mutex_unlock(&p->mutex);
}

static void post_back(struct crew_call *call)
{
    struct poller_post *o = container_of(call, struct poller_post, call);
    struct duty *d = o->duty;
    struct poller *p = d->poller;

    log_event(LOG_INFO, "gateway.return", kv_z("gateway", d->name),
              kv_int("ms", (clock_mono_us() - call->began_us) / CLOCK_MS));
    poller_post_free(o);
    (void)pthread_mutex_lock(&p->mutex);
    d->lost--;
    d->due_us = clock_mono_us();
    (void)pthread_cond_broadcast(&p->changed);
    take_out_if_over(d);
    (void)pthread_mutex_unlock(&p->mutex);
}

/* ---- the thread ---- */

/* With the mutex held: between two polls. */
static void adopt(struct duty *d)
{
    if (d->fresh != NULL) {
        poller_post_free(d->post);
        d->post = NULL;
        config_unref(d->config);
        d->config = d->fresh;
        d->version = d->fresh_version;
        d->fresh = NULL;
    }
    if (d->post == NULL)
        d->post = poller_post_new(d);
}

/* With the mutex held: how many polls are at work, and how many are of gateways that fail. */
static size_t polls_at_work(struct poller *p, int64_t now, size_t *ret_failing)
{
    size_t n = 0;

    *ret_failing = 0;
    for (struct duty *d = p->duties; d != NULL; d = d->next) {
        n += d->busy && now - atomic_load(&d->post->call.call.alive_us) < STILL_US;
        *ret_failing += d->busy && d->failures > 0;
    }
    return n;
}

/* With the mutex held.  Others that are due come before it from now on. */
static void submit_duty(struct poller *p, struct duty *d)
{
    *duty_take_out(d) = d;
    d->next = NULL;
    adopt(d);
    d->busy = true;
    p->busy++;
    d->post->gone = d->gone;
    d->began_us = clock_mono_us();
    call_alive(&d->post->call.call);
    crew_submit(p->o.looks, &d->post->call);
}

/* With the mutex held: submits due duties; returns when to come again. */
static int64_t poller_begin_due(struct poller *p)
{
    int64_t now = clock_mono_us(), next = now + CLOCK_S;
    size_t failing, at_work = polls_at_work(p, now, &failing);

    for (struct duty *d = p->duties, *after; d != NULL; d = after) {
        int64_t due_us = d->due_us;

        after = d->next;
        if (d->busy || (d->gone ? d->released : d->lost >= LOOKS_LOST_MOST))
            continue;
        if (due_us <= now && at_work < POLLS_MOST && p->busy < LOOKS_MOST &&
            (d->failures == 0 || failing < FAILING_MOST)) {
            at_work++;
            failing += d->failures > 0;
            submit_duty(p, d);
            continue;
        }
        due_us = due_us > now ? due_us : now + STILL_US / 2; /* nobody tells that one is silent */
        next = due_us < next ? due_us : next;
    }
    return next;
}

static void *poller_main(void *arg)
{
    struct poller *p = arg;

    (void)pthread_mutex_lock(&p->mutex);
    while (!atomic_load(&p->stopping)) {
        (void)wait_until(&p->changed, &p->mutex, poller_begin_due(p));
        (void)pthread_mutex_unlock(&p->mutex);
        lines_sweep(p->lines, clock_mono_us());
        (void)pthread_mutex_lock(&p->mutex);
    }
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
    p->lines = lines_new();
    lines_use_any(p->lines);
    (void)pthread_mutex_init(&p->mutex, NULL);
    (void)pthread_cond_init(&p->changed, NULL);
    return p;
}

void poller_run(struct poller *p)
{
    thread_start(&p->thread, "poller", poller_main, p);
    p->running = true;
}

/* The gateway of a turn to give back; 0: none is left.  A lost poll that returns frees its duty. */
static int64_t take_word(struct poller *p)
{
    int64_t word = 0;

    (void)pthread_mutex_lock(&p->mutex);
    for (struct duty *d = p->duties; d != NULL && word == 0; d = d->next) {
        word = d->word;
        d->word = 0;
    }
    (void)pthread_mutex_unlock(&p->mutex);
    return word;
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
    lines_stop(p->lines);
    for (int64_t word; (word = take_word(p)) != 0;)
        polled_give_turn_back(&p->o, word);
}

void poller_free(struct poller *p)
{
    if (p == NULL)
        return;
    for (struct duty *d = p->duties, *next; d != NULL; d = next) {
        next = d->next;
        duty_free(d);
    }
    lines_unref(p->lines);
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
        if (!polled_is_for(&p->o, &config->gateways[i]))
            continue;
        struct duty *d = duty_of(p, config->gateways[i].name);

        d->gone = d->released = false;
        config_unref(d->fresh);
        d->fresh = config_ref(config);
        d->fresh_version = version;
        d->due_us = now;
    }
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->mutex);
}

void poller_try(struct poller *p, struct config *config, struct problem_list *problems)
{
    for (size_t i = 0; i < config->gateway_count; i++)
        if (polled_is_for(&p->o, &config->gateways[i]))
            polled_try(&p->o, config, &config->gateways[i], problems);
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
