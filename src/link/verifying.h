/* verifying.h - one run of a pass of verification: do both sides of a table have the same rows?
 *
 * A pass walks over the keys in segments, in the order of the source.  Of each segment both sides
 * are asked for the count and the sum of the hashes of their rows; where they differ, for those of
 * smaller ranges, and at last for keys and hashes of single rows.  The last segment has no upper
 * end, so rows behind the last key of the source are found as well.
 *
 * A row that differs is only a suspect: the change may be on its way.  It is looked at again later.
 * With a journal (by_journal of verification.h) a suspect is a difference if it differs although
 * the destination has applied the last change of the row, and there was no newer change while one
 * looked.  Without a journal it is one if nothing about it changes during twice the interval of
 * replication.  A row that changes each time is counted as moving.
 *
 * A side that cannot be read is an error of the run and no difference: the pass goes on with the
 * next run.  A row that was set aside, or whose values cannot travel, is a difference like others.
 *
 * The mode `recent` goes over the rows that have changed since the last such pass
 * (verify_recent.c).
 *
 * The result is OK only if all segments were compared row by row.  The modes `count`, `sample` and
 * `recent` end as PARTIAL at best, and the message begins with "ok of what was compared".
 *
 * The pass and its findings are stored with each step (store/replica/pass.h), so a run may end
 * anywhere and the next one goes on from there.
 *
 * Threads: one; blocks on both databases and the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "link/link_settings.h"
#include "link/link_sides.h"
#include "link/link_state.h"
#include "store/replica/pass.h"

struct call;
struct store;

enum { VERIFY_MESSAGE_MOST = 900, VERIFY_SEGMENT_MOST = 65536 };

/* What one run leaves to the next, besides the pass in the store.  When it is lost, the pass goes
 * on, but one that a person has ordered repairs nothing. */
struct verify_state {
    int64_t pass;      /* 0: none is under way */
    int64_t most;      /* that it may repair */
    int64_t rows;      /* of the next segment; 0: not known yet */
    int64_t again;     /* how often the next segment was read in vain: too much differed */
    int64_t again_us;  /* and when it is read again */
    int64_t attempts;  /* runs that tried to repair and found the mark moving */
    int64_t looks;     /* of `count` */
    int64_t surplus;   /* of `count`: by how much the source had more rows */
    int64_t steady;    /* of `count`: for how many looks it was that much */
    int64_t paused_us; /* since when it waits for replication; 0: it does not */
    /* Of `recent`: changes before since_x were compared, this pass goes to until_x (0: it has not
     * begun); history: of which source, as a number.  They outlive the pass. */
    int64_t since_x, until_x, history;
};

/* An empty text: a new one.  ERR_PERMANENT: it cannot be read. */
bool verify_state_read(struct str text, struct verify_state *ret, struct err *err);
void verify_state_write(const struct verify_state *s, struct buf *to);

struct verifying {
    const struct link_spec *spec;
    struct link_kept *kept;
    struct store *store;
    struct call *call;    /* asked between steps */
    struct arena *arena;  /* of the run */
    struct str rule_name; /* the name of the job */
    const struct link_verify *rule;
    const struct link_state *follower; /* how far replication is; NULL: not known */
    int64_t segment_rows;              /* 0: as many as a second reads */
    int64_t now_us;
};

struct verified {
    bool more; /* the pass goes on */
    bool ended;
    struct pass pass; /* as it is now; id 0: there is none.  Texts in the run's arena */
    char message[VERIFY_MESSAGE_MOST + 1];
};

/* Goes on with the pass that is under way, or begins one: the one that a person has ordered, else
 * one as the rule says.  *s is what the run before has left, and becomes the new one. */
bool verifying_run(const struct verifying *v, struct verify_state *s, struct verified *ret,
                   struct err *err);
