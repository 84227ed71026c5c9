/* verification.h - the inside of a run of a pass (verifying.h), for the files of this folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "link/verifying.h"
#include "store/replica/replica_order.h"
#include "table/side.h"

enum {
    VERIFY_TRIES = 10,      /* so often a row may have changed again before it counts as moving */
    VERIFY_PAGE = 500,      /* suspects that are looked at together */
    VERIFY_SUSPECTS = 5000, /* with so many the next segment waits */
    VERIFY_REPAIRED = 1000  /* added to finding.tries: the row was repaired, and is looked at */
};

struct verification {
    const struct verifying *v;
    struct verify_state *s;
    struct verified *done;
    struct side *source, *dest;
    struct pass pass;
    enum link_verify_mode mode; /* of the pass */
    struct buf next;            /* pass.next */
    bool has_order;             /* a person wants a pass; looked for when none is under way */
    struct replica_order order;

    /* The journal of the source tells which changes the destination has applied. */
    bool by_journal;
    bool has_mark;
    struct mark mark; /* as it was last read; texts in `turn` */

    struct arena turn; /* of a step */
    struct buf batch;  /* of a repair */
    int64_t began_mono_us;

    bool sweeping; /* suspects are gone through in order of their keys, behind `swept` */
    struct buf swept;
    int64_t sweep_count;       /* left so far, ... */
    int64_t sweep_look_us;     /* ... and when the first of them is looked at again */
    int64_t suspects, look_us; /* the same of the last whole sweep, and what came since */

    bool lost;          /* somebody else has ended the pass */
    int64_t rest_us;    /* nothing is to be done for so long */
    const char *ending; /* said at the end, behind the numbers; may be NULL */
};

int64_t verification_now_us(const struct verification *p);
/* How long after it was found a suspect is looked at again. */
int64_t verification_delay_us(const struct verification *p);
/* Stores the pass with what a step has found. */
bool verification_save(struct verification *p, const struct finding *findings, size_t count,
                       struct err *err);
bool verification_scan_is_over(const struct verification *p);
int64_t verification_differences(const struct verification *p); /* confirmed so far */

/* What a step has found; the next one begins at `upto`, empty: all was looked at. */
bool verify_leave(struct verification *p, struct str upto, const struct finding *findings,
                  size_t count, struct err *err);
/* Rows with these keys, as they are on a side now: hashes[i].key is empty where there is none. */
bool verify_hashes(struct verification *p, struct side *side, const struct finding *f, size_t count,
                   struct side_hash **ret, struct err *err);
bool verify_hash_same(const struct side_hash *a, const struct side_hash *b);
struct str verify_hash_view(const struct side_hash *h); /* empty: there is no row */

/* The next segment, or one look of a pass that only counts. */
bool verify_segment(struct verification *p, struct err *err);
bool verify_count(struct verification *p, bool *ret_over, struct err *err);

/* Some of the rows that have changed since the last such pass.  pass.next is its own: the key in
 * it, or empty. */
bool verify_recent(struct verification *p, struct err *err);
struct str verify_recent_key(const struct verification *p);
/* The pass has its result. */
void verify_recent_end(struct verification *p);

/* Looks again at some of the suspects whose time has come. */
bool verify_recheck(struct verification *p, struct err *err);
bool verify_read_mark(struct verification *p, struct err *err);

/* Repairs what was confirmed.  *ret_over: there is nothing (more) to repair. */
bool verify_repair(struct verification *p, bool *ret_over, struct err *err);

/* Result and message of a pass whose steps are all done. */
void verify_end(struct verification *p);
/* What a pass under way says. */
void verify_say_progress(struct verification *p);
