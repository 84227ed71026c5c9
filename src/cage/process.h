/* process.h - one process of a cage, as its caller has it: start, run some documents, end.
 *
 * Everything that the process says is checked (talk.h), and its time is measured here.
 *
 * Time        A document has `time_us` of processor time, and ten times of it by the clock, for a
 *             machine that is busy.  The time that the caller's own io takes does not count.
 *             Who has used an eighth of it goes on when nobody else has something to do, and serves
 *             nothing after that document; one that is suspected, after a 64th.
 * Attribution The process says which document it works on (progress.h).  When it dies or has to be
 *             killed, that one pays; those whose answers have not come are as if they had not been
 *             sent.
 * Mould       A process that has made its step and serves nothing: it starts copies of itself,
 * which saves them the dynamic loader and the making.  A copy differs in nothing else from a
 *             process that was executed: it locks itself up before it gets a document.
 * Threads     one at a time; process_copy() of one mould: any.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cage/cage.h"

enum { PROCESS_DOCUMENTS_MOST = 1000, PROCESS_IDLE_US = 60 * 1000000 };

struct process;

/* ERR_CONFIG: the step cannot be made, or this machine cannot lock a process up.  Any other error:
 * the process could not be started now. */
bool process_start(const struct cage_recipe *recipe, const struct cage_limits *limits,
                   struct process **ret, struct err *err);
/* The same; if its service is `copied`, the process is a mould, and *ret_is_mould. */
bool process_start_mould(const struct cage_recipe *recipe, const struct cage_limits *limits,
                         struct process **ret, bool *ret_is_mould, struct err *err);
/* A copy of the mould, which has its limits.  It ends when the mould does. */
bool process_copy(const struct process *mould, struct process **ret, struct err *err);
/* Kills it if it still runs, and waits for its end. */
void process_free(struct process *p);

/* It can serve `next` documents more. */
bool process_lasts(const struct process *p, size_t next);

/* The most memory that it has had, in bytes; 0: this machine does not tell. */
int64_t process_memory(const struct process *p);

/* The last document of its step used up its budget. */
void process_suspect(struct process *p, bool suspected);

enum process_state {
    PROCESS_ALIVE,
    PROCESS_GONE, /* it ended, or was killed; the jobs say why */
    PROCESS_STALE /* it ended before the first document: run the jobs again, in another one */
};

/* When *stopped becomes true, or the call of the first job is over, the jobs that have no result
 * are not run. */
enum process_state process_run(struct process *p, struct cage_job *jobs, size_t count,
                               const struct cage_limits *limits, const _Atomic bool *stopped);
