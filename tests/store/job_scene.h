/* job_scene.h - what the tests of jobs share: one job called a, its claims and ends, what people
 * do. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "store/job/job_claim.h"
#include "store/job/job_end.h"
#include "store/job/job_follow.h"
#include "store/job/job_operate.h"
#include "store/watch/check.h"
#include "store_test.h"

#define DAY_US (INT64_C(86400) * CLOCK_S)

static struct arena texts = ARENA_INIT(64 << 20); /* of all tests */
static int64_t agains;                            /* how often a time was computed again */

static inline struct job_wanted wanted(const char *name, const char *settings, int64_t due_us)
{
    return (struct job_wanted){ .name = str_of(name),
                                .kind = STR("note"),
                                .queue = QUEUE_JOBS,
                                .digest = digest_of(str_of(settings)),
                                .plan = { .next = { due_us, due_us } } };
}

static inline void again(void *arg, struct job_wanted *w, const struct job_record *now)
{
    (void)arg;
    agains++;
    w->plan.turn = now->turn;
}

static struct job_follow followed;

static inline bool follow(struct store *s, int64_t version, struct job_wanted *jobs, size_t count)
{
    struct err err = { 0 };

    followed =
        (struct job_follow){ .version = version, .jobs = jobs, .count = count, .again = again };
    if (job_follow(s, &followed, &err))
        return followed.first;
    printf("# follow: %s\n", err.text);
    return false;
}

/* One job that is due now. */
static inline bool one_job(struct store *s)
{
    struct job_wanted j = wanted("a", "1", clock_wall_us() - 1);

    return s != NULL && follow(s, 1, &j, 1);
}

/* Claims that began so long ago, of runs that may take `lasts_us`. */
static int64_t lasts_us;

static inline int64_t lasts(const void *arg, const struct job_record *r)
{
    (void)arg;
    (void)r;
    return lasts_us;
}

static inline struct job_lease lease_since(int64_t ago_us)
{
    return (struct job_lease){ .us = -ago_us, .now_us = clock_wall_us(), .lasts = lasts };
}

/* How many were claimed, -1 on an error. */
static inline int take(struct store *s, size_t limit, struct job_claim *ret)
{
    const struct job_lease lease = lease_since(0);
    int64_t queues[] = { QUEUE_JOBS };
    struct err err = { 0 };
    size_t n = 0;

    if (job_claim(s, queues, 1, STR(""), limit, &lease, &texts, ret, &n, &err))
        return (int)n;
    printf("# claim: %s\n", err.text);
    return -1;
}

static inline struct job_end_op end_of(const struct job_claim *c, const char *state, int64_t due_us)
{
    return (struct job_end_op){ .task = c->task,
                                .digest = c->record.digest,
                                .queue = c->record.queue,
                                .outcome = JOB_DONE,
                                .message = STR("well done"),
                                .began_us = c->task.rank,
                                .ended_us = clock_wall_us(),
                                .has_state = state != NULL,
                                .state = str_of(state != NULL ? state : ""),
                                .state_number = c->record.state_number,
                                .plan = { .next = { due_us, due_us },
                                          .past = { .settled_us = c->record.next.nominal_us,
                                                    .served = c->record.past.served + 1 },
                                          .turn = c->record.turn } };
}

/* Plans again, to the same times, if the record is another one. */
static inline bool end(struct store *s, struct job_end_op *o)
{
    struct err err = { 0 };
    bool ok;

    while ((ok = writers_call(store_writers(s), &job_end_verb, &o->op, &err)) &&
           o->result == JOB_END_PLAN)
        o->plan.turn = o->record.turn;
    if (ok)
        return o->result == JOB_END_WRITTEN;
    printf("# end: %s\n", err.text);
    return false;
}

/* The job's record; num 0: there is none. */
static inline struct job_record show(struct store *s, const char *name)
{
    struct job_record r = { 0 };
    struct err err = { 0 };
    bool found;

    if (!job_find(s, str_of(name), &texts, &r, &found, &err))
        printf("# find: %s\n", err.text);
    return r;
}

static inline struct job_order order_of(enum job_act what, int64_t due_us, int64_t turn)
{
    return (struct job_order){ .act = what,
                               .name = STR("a"),
                               .by = STR("ada"),
                               .why = STR("a reason"),
                               .plan = { .next = { due_us, due_us }, .turn = turn } };
}

static inline enum job_answer give_order(struct store *s, const struct job_order *o)
{
    enum job_answer answer = JOB_UNKNOWN;
    struct err err = { 0 };

    if (!job_operate(s, o, &answer, &err))
        printf("# operate: %s\n", err.text);
    return answer;
}

static inline enum job_answer act(struct store *s, enum job_act what, int64_t due_us,
                                  int64_t number)
{
    struct job_order o = order_of(what, due_us, show(s, "a").turn);

    o.state_number = number;
    return give_order(s, &o);
}

static inline const char *state_of(const struct home *h)
{
    static char text[100];

    return ask_text(h, "SELECT state FROM job WHERE name = 'a'", text, sizeof text);
}

/* Wakes everything that is due by then. */
static inline int64_t wake(struct store *s, int64_t now_us)
{
    struct err err = { 0 };
    int64_t moved, next;

    return task_wake(s, now_us, TASK_CLAIM_MOST, &moved, &next, &err) ? moved : -1;
}

/* How much the doctor finds in what concerns jobs. */
static inline int64_t wrongs(struct store *s)
{
    struct err err = { 0 };
    struct check_result r;
    int64_t n = 0;

    for (size_t i = 0; i < check_count(); i++) {
        if (strcmp(check_name(i), "jobs") != 0 &&
            strcmp(check_name(i), "tasks-have-documents") != 0)
            continue;
        if (!check_run(s, i, false, &r, &err))
            return -1;
        n += r.bad;
    }
    return n;
}

static inline int tokens(struct store *s)
{
    struct task_places p = places(s);

    return p.ready + p.lease + p.later + p.dead;
}
