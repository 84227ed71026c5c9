/* link_view.h - a table of a link, as people see it: what its job and the state of that say
 * together.
 *
 * The tables of a link are jobs: LINK/TABLE replicates, LINK/TABLE/verify and LINK/TABLE/verify-N
 * compare.  Pure: no store, no clock.
 *
 * Threads: any.
 */
#pragma once

#include "base/buf.h"
#include "link/link_state.h"
#include "store/job/job.h"
#include "store/replica/pass.h"

struct link_view {
    struct str link, table;
    struct job_record job;
    struct link_state state;
    struct str broken; /* why the state cannot be read; empty: it can */
    int64_t lag_us;    /* since it was current last; -1: it never was */
    int64_t now_us;
};

/* LINK/TABLE: the name of a job that replicates; false: it is none. */
bool link_view_split(struct str job, struct str *ret_link, struct str *ret_table);
void link_view_make(const struct job_record *job, struct str state, int64_t now_us, struct arena *a,
                    struct link_view *ret);
/* The job that verifies a table: the first rule that it has. */
bool link_view_is_verify(struct str job, struct str link, struct str table);

/* What a person can do about it, a sentence; empty: nothing. */
void link_view_remedy(const struct link_view *v, struct buf *to);
/* Why it is late or stopped, or that it is neither: one sentence a line.  `last` is its last pass
 * of verification, NULL: it has none. */
void link_view_explain(const struct link_view *v, const struct pass *last, struct buf *lines);
