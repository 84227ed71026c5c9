/* book.h - the jobs of a version of the configuration, ready to run: one immutable snapshot.
 *
 * A job that cannot run on this node (a secret is missing) keeps the others from nothing: `broken`
 * says why, and its runs fail.  One whose times are not known here, because this machine does not
 * have its time zone, is left to other nodes: this one plans nothing for it (planning.h).
 *
 * The digest of a job covers what it does and when, with the calendars that it names: jobs of two
 * versions with the same digest are unchanged (store/job/job_follow.h).  It does not cover its
 * title, and what is logged of it.
 *
 * Threads: never changed after book_build(), which blocks on the store; ref and unref from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "core/job_type.h"
#include "core/schedule/schedule.h"
#include "store/job/job_log.h"

struct config;
struct connectors;
struct store;

struct book_job {
    struct str name, title, kind, area; /* title, area: may be empty */
    struct str times, zone;             /* of its schedule, as they are written */
    const struct job_type *type;
    void *self;         /* NULL: broken */
    const char *broken; /* why it cannot run here; NULL: it can */
    int64_t queue;
    struct sha256 digest;
    struct schedule schedule;
    bool times_unknown; /* of its schedule only what does not depend on a zone counts */
    uint64_t seed;      /* of its chance (schedule.h): the same on every node */
    enum job_log_level log;
    int64_t parallel, timeout_us;
    bool leaves; /* its runs are left to somebody outside */
};

struct book {
    _Atomic unsigned refs;
    struct config *config;
    int64_t version;
    struct book_job *jobs;       /* by name */
    size_t count, unknown_count; /* unknown: times_unknown */
    struct str ack_url;          /* where acknowledgements come to; empty: nowhere */
    struct arena arena;
};

/* ERR_TRANSIENT and others: the store failed. */
bool book_build(struct config *config, int64_t version, const struct connectors *connectors,
                struct store *store, struct book **ret, struct err *err);
struct book *book_ref(struct book *b);
void book_unref(struct book *b); /* NULL is fine */

/* NULL: it has no job of that name. */
const struct book_job *book_find(const struct book *b, struct str name);
