/* over.c - runs that an order has ended: cancelled, or released by the queue check.
 *
 * Whoever has given the order writes their lines, from what its commit took away: the node that
 * runs one may hang, and a service outside is no node.  What still comes of such a run finds its
 * claim lost, and writes none.
 */
#include "base/auto.h"
#include "job/book.h"
#include "job/journal.h"
#include "job/state.h"
#include "store/job/job_run.h"

int64_t over_nominal(struct jobs *j, struct str name)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(1 << 20);
    struct planning p = { 0 };
    struct job_record r;
    struct err err = { 0 };
    bool found;

    if (!job_find(j->store, name, &arena, &r, &found, &err) || !found)
        return 0; /* the order says why */
    struct book *b = jobs_book(j);
    const struct book_job *job = book_find(b, name);

    if (job != NULL && digest_same(&job->digest, &r.digest))
        planning_cancelled(job, &r, jobs_now_us(j), &p);
    book_unref(b);
    return p.served_us;
}

/* No run was claimed before it was due: clocks may differ a little. */
static int64_t over_due(const struct job_over *over, const struct job_run *r)
{
    bool held = r->until_us == 0;

    return held && over->due_us < r->began_us ? over->due_us : r->began_us;
}

static void over_log_run(struct jobs *j, const struct book_job *job, const struct job_order *order,
                         const struct job_run *r, int64_t nominal_us)
{
    enum job_outcome outcome = order->act == JOB_CANCEL ? JOB_CANCELLED : JOB_FAILED;
    int64_t now_us = jobs_now_us(j);

    counts_end(job, outcome, false, now_us);
    if (!job_log_wants(job->log, outcome, false))
        return;
    nominal_us = r->nominal_us != 0 ? r->nominal_us : nominal_us;
    journal_put(j->journal,
                &(struct job_log_line){ .job = r->job,
                                        .claim = r->claim,
                                        .node = r->node,
                                        .nominal_us = nominal_us != 0 ? nominal_us : r->began_us,
                                        .due_us = over_due(order->over, r),
                                        .claimed_us = r->began_us,
                                        .began_us = r->began_us,
                                        .ended_us = now_us > r->began_us ? now_us : r->began_us,
                                        .outcome = outcome,
                                        .message = order->why });
}

void over_log(struct jobs *j, const struct job_order *order, int64_t nominal_us)
{
    const struct book_job gone = { .name = order->name, .log = JOB_LOG_ERRORS };
    struct book *b = jobs_book(j);
    const struct book_job *job = book_find(b, order->name);

    for (size_t i = 0; i < order->over->count; i++)
        over_log_run(j, job != NULL ? job : &gone, order, &order->over->runs[i], nominal_us);
    book_unref(b);
}
