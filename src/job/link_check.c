#include "job/link_check.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/config.h"
#include "engine/watch/alerts.h"
#include "link/link_state.h"
#include "store/job/job.h"
#include "store/replica/pass.h"

enum {
    PORTION = 200,       /* jobs, or passes, of one question */
    TABLES_MOST = 20000, /* the rest is not looked at */
    PAGE_ARENA = 32 << 20,
    WHY_MOST = 400,
    MESSAGE_MOST = 300 /* of a state in an alert */
};

struct link_check_name {
    struct link_check_name *next;
    struct str name;
};

struct link_check_round {
    struct alerts *alerts;
    int64_t now_us;
    struct arena *arena;
    struct link_check_name *names; /* those that have the alert, or may have it */
    size_t count;
};

static void link_check_add(struct link_check_round *r, struct str name)
{
    struct link_check_name *n = ARENA_NEW(r->arena, struct link_check_name);

    *n = (struct link_check_name){ .next = r->names, .name = arena_copy(r->arena, name) };
    r->names = n;
    r->count++;
}

static bool link_check_has(const void *round, enum alert_code code, struct str object)
{
    const struct link_check_name *n = ((const struct link_check_round *)round)->names;

    (void)code;
    while (n != NULL && !str_eq(n->name, object))
        n = n->next;
    return n != NULL;
}

/* ---- one table ---- */

static bool link_check_fails(const struct job_record *job)
{
    return job->past.tries > 0 || job->past.failures > 0;
}

/* Since when it is late; 0: it is not.  A table that is current and rests is not, however long its
 * job rests (`every`, `idle_most`); before a run that failed counts as failed it was repeated for
 * as long as `retry.for` says. */
static int64_t link_check_late_since(const struct job_record *job, const struct link_state *s)
{
    if (job->stop != JOB_GOES || s->stands == LINK_STOPPED)
        return 0;
    if (job->past.failures > 0)
        return job->ok_us > 0 ? job->ok_us : 1;
    if (s->stands == LINK_BEHIND)
        return s->since_us;
    if (job->past.tries > 0)
        return job->past.first_us;
    return s->stands == LINK_CURRENT ? job->due_us : 0;
}

static void link_check_see_late(struct link_check_round *r, const struct job_record *job,
                                const struct link_state *s)
{
    int64_t since_us = link_check_late_since(job, s);
    int64_t late_s = since_us > 0 && r->now_us > since_us ? (r->now_us - since_us) / CLOCK_S : 0;
    char why[WHY_MOST];

    if (link_check_fails(job))
        (void)snprintf(why, sizeof why, "its runs fail: %.*s",
                       STR_ARG(str_first(job->message, MESSAGE_MOST)));
    else if (s->stands == LINK_BEHIND)
        (void)snprintf(why, sizeof why,
                       "behind for %" PRId64 " s; %" PRId64 " changes wait at the source", late_s,
                       s->backlog);
    else
        (void)snprintf(why, sizeof why, "due for %" PRId64 " s, and no run has ended", late_s);
    alerts_see(r->alerts, ALERT_LINK_LATE, job->name, late_s, why);
}

/* A state that cannot be read suspends its job, and that is told. */
static void link_check_table(struct link_check_round *r, const struct job_with_state *job,
                             struct arena *scratch)
{
    struct link_state s = { 0 };
    struct err err = { 0 };
    char why[WHY_MOST];

    if (!link_state_read(job->state, scratch, &s, &err))
        s = (struct link_state){ 0 };
    (void)snprintf(why, sizeof why, "%s: %.*s", link_reasons[s.reason],
                   STR_ARG(str_first(str_of(s.message), MESSAGE_MOST)));
    alerts_see_if(r->alerts, ALERT_LINK_STOPPED, job->record.name, s.stands == LINK_STOPPED, why);
    (void)snprintf(why, sizeof why,
                   "%" PRId64 " rows could not be written: `waybill repl quarantine` lists them",
                   s.set_aside);
    alerts_see_if(r->alerts, ALERT_QUARANTINE, job->record.name, s.set_aside > 0, why);
    link_check_see_late(r, &job->record, &s);
}

static bool link_check_tables(struct link_check_round *r, struct store *s, struct err *err)
{
    AUTO(arena_done) struct arena page = ARENA_INIT(PAGE_ARENA);
    int64_t above = 0;

    for (size_t n = PORTION; n == PORTION && r->count < TABLES_MOST; arena_reset(&page)) {
        struct job_with_state *jobs = ARENA_ARRAY(&page, struct job_with_state, PORTION);

        if (!job_list_kind(s, STR(CONFIG_KIND_REPLICATE), above, PORTION, &page, jobs, &n, err))
            return false;
        for (size_t i = 0; i < n; i++) {
            link_check_add(r, jobs[i].record.name);
            link_check_table(r, &jobs[i], &page);
        }
        above = n > 0 ? jobs[n - 1].record.num : above;
    }
    alerts_see_over(r->alerts, ALERT_LINK_STOPPED, link_check_has, r);
    alerts_see_over(r->alerts, ALERT_LINK_LATE, link_check_has, r);
    alerts_see_over(r->alerts, ALERT_QUARANTINE, link_check_has, r);
    return true;
}

/* ---- differences ---- */

/* Of a table that is still there. */
static void link_check_pass(struct link_check_round *r, struct link_check_round *differ,
                            const struct pass *p)
{
    struct str name =
        str_of(arena_printf(r->arena, "%.*s/%.*s", STR_ARG(p->link), STR_ARG(p->table)));
    char why[WHY_MOST];

    if (!link_check_has(r, ALERT_ROWS_DIFFER, name))
        return;
    (void)snprintf(why, sizeof why, "pass %" PRId64 ": %.*s", p->id,
                   STR_ARG(str_first(p->message, MESSAGE_MOST)));
    alerts_see_if(r->alerts, ALERT_ROWS_DIFFER, name, true, why);
    link_check_add(differ, name);
}

static bool link_check_passes(struct link_check_round *r, struct store *s, struct err *err)
{
    AUTO(arena_done) struct arena page = ARENA_INIT(PAGE_ARENA);
    struct link_check_round differ = { .arena = r->arena };
    int64_t above = 0;

    for (size_t n = PORTION; n == PORTION && r->count > 0; arena_reset(&page)) {
        struct pass *passes = ARENA_ARRAY(&page, struct pass, PORTION);

        if (!pass_differing(s, above, PORTION, &page, passes, &n, err))
            return false;
        for (size_t i = 0; i < n; i++)
            link_check_pass(r, &differ, &passes[i]);
        above = n > 0 ? passes[n - 1].id : above;
    }
    alerts_see_over(r->alerts, ALERT_ROWS_DIFFER, link_check_has, &differ);
    return true;
}

bool link_check(struct store *s, struct alerts *alerts, int64_t now_us, struct arena *a,
                struct err *err)
{
    struct link_check_round r = { .alerts = alerts, .now_us = now_us, .arena = a };

    return link_check_tables(&r, s, err) && link_check_passes(&r, s, err);
}
