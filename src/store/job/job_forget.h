/* job_forget.h - records of jobs that have left the configuration go, with all that belongs to
 * them.
 *
 * JOB_GONE_DAYS after they left, or earlier where a version needs their room (job_follow.h).  One
 * of which something still runs stays.  Lines of the log of runs go by themselves, with their days.
 *
 * Threads: any that may block.
 */
#pragma once

#include "store/job/job.h"

enum { JOB_FORGET_MOST = 1000 }; /* in one commit */

/* Those that left JOB_GONE_DAYS before now_us; called now and then, by any node.  *ret_count: how
 * many, with JOB_FORGET_MOST there may be more. */
bool job_forget(struct store *s, int64_t now_us, size_t *ret_count, struct err *err);

/* ---- inside the store ---- */

/* The numbers of jobs that left before before_us and of which nothing runs, ascending; their
 * records are locked until the commit. */
bool job_forget_list(struct writer *w, int64_t before_us, size_t most, int64_t *ret,
                     size_t *ret_count, struct err *err);
bool job_forget_drop(struct writer *w, const int64_t *nums, size_t count, struct err *err);
