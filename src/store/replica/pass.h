/* pass.h - passes of verification: what was compared, and what was found.
 *
 * A pass is stored with every step that it makes, together with what the step has found.  Of each
 * table the last PASS_KEPT passes are kept, and of the findings PASS_FINDINGS_MOST of each pass;
 * what is beyond is counted and not listed.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct store;

enum { PASS_KEPT = 20, PASS_FINDINGS_MOST = 10000 };

enum pass_result {
    PASS_RUNNING,
    PASS_OK,       /* all was compared, and is the same */
    PASS_DIVERGED, /* there are differences */
    PASS_REPAIRED, /* there were, and there are none any more */
    PASS_PARTIAL,  /* no difference, but not all could be compared */
    PASS_ABORTED,  /* it did not come to its end: `message` */
    PASS_RESULTS
};

extern const char *const pass_results[PASS_RESULTS]; /* running, ok, diverged, ... */

enum finding_kind { FINDING_MISSING, FINDING_EXTRA, FINDING_DIFFERENT, FINDING_KINDS };
extern const char *const finding_kinds[FINDING_KINDS];

enum finding_state {
    FINDING_SUSPECT,   /* to be looked at again */
    FINDING_CONFIRMED, /* a difference */
    FINDING_MOVING,    /* it changes each time one looks */
    FINDING_GONE,      /* it was only on its way; is not kept, and gives its place to others */
    FINDING_REPAIRED,
    FINDING_STATES
};
extern const char *const finding_states[FINDING_STATES];

struct pass {
    int64_t id;                   /* of a new one 0: pass_save() gives it one */
    struct str link, table, rule; /* rule: the name of the job that makes it */
    struct str mode;              /* full, sample, count */
    bool repair, dry_run;
    enum pass_result result;
    int64_t began_us, ended_us; /* ended_us 0: it runs */
    struct str next;            /* the key behind which it goes on */
    int64_t segments, segments_bad, rows_source, rows_dest, bytes;
    int64_t missing, extra, different, moving, repaired, skipped;
    struct str message, by;
};

struct finding {
    int64_t pass;
    struct str key; /* as table/key.h encodes it */
    enum finding_kind kind;
    enum finding_state state;
    struct str hash_source, hash_dest; /* up to 32 bytes; empty: no row */
    int64_t seen_x, tries, look_us;    /* look_us: when it is looked at again */
};

/* The pass as it is now, and findings that are new or have changed (by pass and key), in one
 * commit.  A pass whose row is gone or that has ended otherwise is not changed: *ret_lost. */
bool pass_save(struct store *s, struct pass *p, const struct finding *findings, size_t count,
               bool *ret_lost, struct err *err);
bool pass_find(struct store *s, int64_t id, struct arena *a, bool *ret_has, struct pass *ret,
               struct err *err);
/* Newest first, with ids below `before` (0: from the newest); link, table, rule empty: any. */
bool pass_list(struct store *s, struct str link, struct str table, struct str rule, int64_t before,
               size_t most, struct arena *a, struct pass *ret, size_t *ret_count, struct err *err);
/* Of each table its last pass, if that has found differences: by id, above `above`.  After it none
 * has found the same rows or repaired them; a pass by the same rule and of the same mode that has
 * found nothing counts as that, others that compare less do not. */
bool pass_differing(struct store *s, int64_t above, size_t most, struct arena *a, struct pass *ret,
                    size_t *ret_count, struct err *err);
/* In order of keys, behind `after`.  state FINDING_STATES: any. */
bool pass_findings(struct store *s, int64_t pass, enum finding_state state, struct str after,
                   size_t most, struct arena *a, struct finding *ret, size_t *ret_count,
                   struct err *err);
