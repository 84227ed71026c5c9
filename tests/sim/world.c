/* world.c - a run: what there is, by the seed, and the loop over events.  See sim.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/require.h"
#include "core/units.h"
#include "core/zone.h"
#include "sim.h"

enum { DRAIN_US = 1200 * S, STEPS_MOST = 400000 };

/* ---- chance ---- */

uint64_t world_chance(struct world *w)
{
    uint64_t z = w->chance += 0x9e3779b97f4a7c15; /* splitmix64 */

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

int world_pick(struct world *w, int below)
{
    return (int)(world_chance(w) % (uint64_t)below);
}

bool world_luck(struct world *w, int percent)
{
    return world_pick(w, 100) < percent;
}

int64_t world_between(struct world *w, int64_t from, int64_t to)
{
    return from + (int64_t)(world_chance(w) % (uint64_t)(to - from + 1));
}

/* ---- time ---- */

/* Many nodes share a database, which has its own clock; one node alone is its own. */
int64_t world_store_us(const struct world *w)
{
    return w->now_us + (w->node_count == 1 ? w->nodes[0].off_us : 0);
}

void world_push(struct world *w, int64_t in_us, enum event_kind kind, int node, int a, int b)
{
    struct event e = { .at_us = w->now_us + in_us,
                       .order = ++w->event_order,
                       .kind = kind,
                       .node = node,
                       .life = node >= 0 ? w->nodes[node].life : 0,
                       .a = a,
                       .b = b };

    queue_push(w, &e);
}

void world_trace(struct world *w, const char *fmt, ...)
{
    int64_t at = w->now_us - w->start_us;
    va_list args;

    printf("%4lld.%06lld  ", (long long)(at / S), (long long)(at % S));
    va_start(args, fmt);
    (void)vprintf(fmt, args);
    va_end(args);
    printf("\n");
}

/* ---- what there is ---- */

/* Closed for some minutes out of those in which the run falls. */
static void make_window(struct world *w, struct system *s)
{
    int minute = (int)(w->start_us / S / 60 % 1440);
    const struct zone *utc;
    struct err err;

    require(zone_load(STR("UTC"), NULL, &utc, &err));
    s->windowed = world_luck(w, 25);
    s->window =
        (struct window){ .days = 0x7f, .open_minute = minute + world_pick(w, 2), .zone = utc };
    s->window.close_minute = s->window.open_minute + 1;
    s->windows = (struct window_set){ .windows = &s->window, .count = 1 };
}

/* Half of them have what an endpoint has that says nothing: longer than a lease. */
static int64_t pick_timeout(struct world *w)
{
    int64_t usual;
    struct err err;

    require(units_duration(STR(SEND_TIMEOUT), &usual, &err));
    return world_luck(w, 50) ? usual : world_between(w, 1 * S, 5 * S);
}

static void make_system(struct world *w, struct system *s)
{
    s->policy = (enum doubt_policy)world_pick(w, 4);
    s->ordered = world_luck(w, 50);
    s->remembers = world_luck(w, 60);
    s->skips = world_luck(w, 50);
    s->concurrency = 1 + world_pick(w, 4);
    s->limited = world_luck(w, 50);
    s->rate = (struct rate_rule){ .interval_ns = world_between(w, 20, 2500) * 1000000,
                                  .burst = world_luck(w, 50) ? 1 : 1 + world_pick(w, 5) };
    s->retry = (struct retry_rule){ .first_us = world_between(w, 500 * MS, 2 * S),
                                    .most_us = world_between(w, 4 * S, 16 * S),
                                    .for_us = world_between(w, 10 * S, 300 * S) };
    s->breaker = (struct breaker_rule){ .failures = 2 + world_pick(w, 4),
                                        .wait_us = world_between(w, 1 * S, 5 * S) };
    s->timeout_us = pick_timeout(w);
    s->ill = world_luck(w, 30) ? 0 : world_pick(w, 70);
    make_window(w, s);
}

/* They come in bunches, so that those of one lane are close to each other. */
static void make_papers(struct world *w)
{
    int64_t at = 0;

    w->papers = 20 + world_pick(w, DOCS - 20 + 1);
    for (int i = 0; i < w->papers; i++) {
        struct paper *p = &w->paper[i];

        p->gateway = world_pick(w, GATEWAYS);
        p->children = world_luck(w, 25) ? 2 : 1;
        for (int c = 0; c < p->children; c++)
            p->to[c] =
                (struct target){ .system = world_pick(w, SYSTEMS), .key = world_pick(w, KEYS) };
        at += world_luck(w, 70) ? world_between(w, 0, 50 * MS) : world_between(w, 0, 8 * S);
        world_push(w, at % (ACTIVE_US * 8 / 10), EV_SUBMIT, -1, i, 0);
    }
}

static void make(struct world *w)
{
    w->start_us = w->now_us =
        (INT64_C(20772) * 86400 + world_pick(w, 86400 - 3600)) * S + world_pick(w, S);
    w->end_us = w->start_us + ACTIVE_US;
    w->node_count = 1 + world_pick(w, NODES_MOST);
    for (int i = 0; i < SYSTEMS; i++)
        make_system(w, &w->systems[i]);
    for (int i = 0; i < w->node_count; i++)
        world_push(w, world_between(w, 0, 2 * S), EV_BOOT, i, 0, 0);
    make_papers(w);
    people_plan(w);
    jobs_make(w);
    world_push(w, ACTIVE_US, EV_DRAIN, -1, 0, 0);
}

static void describe(struct world *w)
{
    static const char *const policies[] = { "resend", "hold", "probe", "assume" };

    TRACE(w, "seed %llu: %d nodes, %d documents", (unsigned long long)w->seed, w->node_count,
          w->papers);
    for (int i = 0; i < SYSTEMS; i++) {
        const struct system *s = &w->systems[i];

        TRACE(w, "system %d: %s%s%s%s, %d at once, rate %lld ms burst %lld%s, %d%% ill", i,
              policies[s->policy], s->remembers ? ", remembers keys" : "",
              s->ordered ? ", ordered" : "",
              !s->ordered ? ""
              : s->skips  ? " (skip)"
                          : " (stop)",
              s->concurrency, s->limited ? (long long)(s->rate.interval_ns / 1000000) : 0,
              (long long)s->rate.burst, s->windowed ? ", with a window" : "", s->ill);
    }
}

/* ---- the loop ---- */

/* The sender of a document: it sends it again until it is acknowledged. */
static void submit(struct world *w, int paper)
{
    int node = world_pick(w, w->node_count);
    const struct node *n = &w->nodes[node];

    if (w->paper[paper].acked)
        return;
    world_push(w, world_between(w, 1 * S, 3 * S), EV_SUBMIT, -1, paper, 0);
    if (!n->registered || n->frozen_until_us > w->now_us)
        return;
    struct op *op = node_ask(w, node, OP_ACCEPT);

    op->doc = paper;
}

/* Nothing comes to a node that has died since. */
static bool is_gone(struct world *w, const struct event *e)
{
    if (e->node < 0 || e->life == w->nodes[e->node].life)
        return false;
    if (e->kind == EV_ANSWER || e->kind == EV_AGAIN)
        w->ops[e->a].used = false;
    if (e->kind == EV_JOB_ANSWER || e->kind == EV_JOB_AGAIN)
        w->job_ops[e->a].used = false;
    return true;
}

/* For a node that is frozen everything waits. */
static bool is_delayed(struct world *w, const struct event *e)
{
    if (e->node < 0 || w->nodes[e->node].frozen_until_us <= w->now_us)
        return false;
    struct event later = *e;

    later.at_us = w->nodes[e->node].frozen_until_us;
    later.order = ++w->event_order;
    queue_push(w, &later);
    return true;
}

static void handle_job(struct world *w, const struct event *e)
{
    uint32_t serial = (uint32_t)e->b;

    switch (e->kind) {
    case EV_JOB_APPLY:
        jobs_apply(w, e->a);
        return;
    case EV_JOB_ANSWER:
        jobs_answer(w, e->a);
        return;
    case EV_JOB_AGAIN:
        world_push(w, world_between(w, 1 * MS, 10 * MS), EV_JOB_APPLY, -1, e->a, 0);
        return;
    case EV_JOB_WORKED:
        jobs_worked(w, e->node, e->a, serial);
        return;
    case EV_JOB_STOP:
        jobs_stop(w, e->node, e->a, serial);
        return;
    case EV_JOB_WAITED:
        jobs_waited(w, e->node, e->a, serial);
        return;
    case EV_JOB_POST:
        jobs_post_arrives(w, e->node, e->a, serial);
        return;
    case EV_JOB_REPLY:
        jobs_post_reply(w, e->a, serial);
        return;
    case EV_JOB_TELL:
        jobs_tell(w, e->a, serial);
        return;
    case EV_JOB_PEOPLE:
        jobs_people(w, e->a, e->b);
        return;
    default:
        unreachable("an event that is not about jobs");
    }
}

static void handle(struct world *w, const struct event *e)
{
    switch (e->kind) {
    case EV_APPLY:
        store_apply(w, e->a);
        return;
    case EV_ANSWER:
        node_answer(w, e->a);
        return;
    case EV_KEEP:
        node_keep(w, e->node);
        return;
    case EV_LOOK:
        node_look(w, e->node, e->a != 0);
        return;
    case EV_ROUTED:
        node_routed(w, e->node, e->a, (uint32_t)e->b);
        return;
    case EV_AGAIN:
        w->ops[e->a].sent_us = w->now_us;
        world_push(w, world_between(w, 1 * MS, 10 * MS), EV_APPLY, -1, e->a, 0);
        return;
    case EV_ARRIVE:
        receiver_arrive(w, e->a);
        return;
    case EV_TOLD:
        sending_told(w, e->a);
        return;
    case EV_GIVEUP:
        sending_gave_up(w, e->a);
        return;
    case EV_SUBMIT:
        submit(w, e->a);
        return;
    case EV_BOOT:
        node_boot(w, e->node);
        return;
    case EV_TROUBLE:
        people_trouble(w);
        return;
    case EV_PEOPLE:
        people_act(w);
        return;
    case EV_DRAIN:
        people_drain(w);
        return;
    case EV_NIGHT:
        people_night(w);
        return;
    case EV_JOB_APPLY:
    case EV_JOB_ANSWER:
    case EV_JOB_AGAIN:
    case EV_JOB_WORKED:
    case EV_JOB_STOP:
    case EV_JOB_WAITED:
    case EV_JOB_POST:
    case EV_JOB_REPLY:
    case EV_JOB_TELL:
    case EV_JOB_PEOPLE:
        handle_job(w, e);
        return;
    }
}

static bool is_over(const struct world *w)
{
    for (int i = 0; i < w->papers; i++)
        if (!w->paper[i].acked || !w->store.docs[i].routed)
            return false;
    return w->store.order_count == 0 && jobs_are_over(w);
}

static void done(struct world *w)
{
    for (int i = 0; i < NODES_MOST; i++) {
        govern_free(w->nodes[i].govern);
        w->nodes[i].govern = NULL;
    }
}

bool world_run(struct world *w, uint64_t seed, enum bug bug, bool trace)
{
    struct event e;

    memset(w, 0, offsetof(struct world, ops));
    for (int i = 0; i < OPS_MOST; i++)
        w->ops[i].used = false;
    for (int i = 0; i < JOB_OPS; i++)
        w->job_ops[i].used = false;
    w->seed = seed;
    w->chance = seed * 0x2545f4914f6cdd1d + 1;
    w->bug = bug;
    w->trace = trace;
    make(w);
    describe(w);
    jobs_describe(w);
    while (w->invariant == NULL && !w->drained && queue_pop(w, &e)) {
        w->now_us = e.at_us;
        if (++w->steps > STEPS_MOST || w->now_us > w->end_us + DRAIN_US) {
            check_end(w);
            break;
        }
        if (is_gone(w, &e) || is_delayed(w, &e))
            continue;
        handle(w, &e);
        w->drained = w->draining && is_over(w);
    }
    if (w->invariant == NULL && w->drained)
        check_end(w);
    done(w);
    return w->invariant == NULL;
}
