/* cage.h - a step in a process of its own: the caller's side.
 *
 * A step that runs code of a user (a script), or a library that is not trusted with hostile input,
 * runs in a process without files, network, environment or other processes.  The program executes
 * itself again for it (cage_main.h).  A process makes one step of one version, locks itself up and
 * then serves one document after the other; a key that the step has is in no other process.
 *
 * The caller takes nothing that the process says on trust: it limits time, memory and output
 * itself, checks every frame, and kills a process that breaks a rule.
 *
 * Threads: any; cage_run() blocks its caller, for at most the budget of time of each document.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "core/call.h"
#include "core/service.h"
#include "core/settings.h"

/* What the processes of a step are made from: the name of its service, and its options as JSON in
 * which every reference and file is replaced by its content. */
struct cage_recipe {
    struct str service, options;
};

/* `limits:` of a step. */
struct cage_limits {
    int64_t time_us;        /* of one document */
    int64_t memory, output; /* bytes */
    int64_t concurrency;    /* processes; 0: one for each core */
    /* Bytes, of what comes in or of what came out, that have `time_us`; a larger document has as
     * much again for each.  0: the time does not go by the size. */
    int64_t share;
};

enum { CAGE_SHARE = 16 << 20 }; /* of a service that `streams` */

/* Reads `limits` of a step; its options include grammar_limits or grammar_stream_limits. */
bool cage_limits_read(const struct settings *s, struct cage_limits *ret, struct err *err);

struct cage;

/* Starts the process that starts the others (keeper.h), for a program that soon gives up executing
 * anything (base/confine.h).  Without it the first cage does.  folders: where connections to
 * databases may write. */
bool cage_prepare(const char *const *folders, size_t count, struct err *err);

/* Copies the recipe; no process starts before the first document.  *ret is not NULL. */
struct cage *cage_new(const struct cage_recipe *recipe, const struct cage_limits *limits);
/* Its options have secrets in them: what the step says of them when it is made is told to nobody,
 * for it may quote one. */
void cage_conceal(struct cage *c);
/* Kills the processes that are left.  No cage_run() is under way. */
void cage_free(struct cage *c); /* NULL is fine */

enum cage_result {
    CAGE_NOT_RUN, /* the process ended before its turn: it may run again at no cost; its io was
                   * rewound */
    CAGE_DONE,
    CAGE_FAILED, /* `failure` says why: the step's own words, DEAD_BUDGET or DEAD_LIMIT */
    CAGE_DIED,   /* the process died of this document, or broke a rule: `failure`; it may have been
                  * an accident of this machine */
};

struct cage_job {
    struct service_io *io; /* its document; every slot is called by cage_run.  A document that did
                            * not end CAGE_DONE may have put something all the same */
    enum cage_result result;
    struct service_failure failure;
    int64_t *ret_memory; /* not NULL: the most that its process has had so far, if it is known */
    int64_t waited_us;   /* of the first one: until its process was ready */
    /* Of the first one: when it is over the process is killed, and those that have no result are
     * CAGE_NOT_RUN.  NULL: only cage_stop() ends them. */
    const struct call *call;
};

enum { CAGE_JOBS_MOST = 32 };

/* Runs the documents through one process, in their order; waits for a free one. */
void cage_run(struct cage *c, struct cage_job *jobs, size_t count);
/* For good: each cage_run() ends soon, its documents that have no result are CAGE_NOT_RUN. */
void cage_stop(struct cage *c);

/* Makes the step as its process would, and ends it: a mistake in a script is ERR_CONFIG. */
bool cage_check(const struct cage_recipe *recipe, struct err *err);
