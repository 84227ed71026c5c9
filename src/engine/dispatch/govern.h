/* govern.h - why nothing of a system may begin now: holds, its window, the pause of this node,
 * a restore.
 *
 * Reasons are facts about a system and evaluated whenever somebody asks; nothing is written
 * to a delivery, so nothing can be left behind when a reason ends.  An answer is good until
 * `ret_ask_us` or until the generation changes, whichever comes first.
 *
 * Holds and windows begin and end by the clock of the store (core/steady.h).  A node whose
 * heartbeat is overdue begins nothing: another one may have taken its work over.
 *
 * Threads: any; one short lock below all others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/state.h"
#include "core/steady.h"

struct govern;
struct plan;

struct govern_hold {
    int64_t system;            /* word */
    int64_t from_us, until_us; /* 0: without an end */
};

struct govern *govern_new(void);
void govern_free(struct govern *g);

/* The reasons (held_reason); 0: it may begin.  Times are monotonic: now, and when to ask
 * again at the latest. */
unsigned govern_why(struct govern *g, int64_t system, int64_t mono_us, int64_t *ret_ask_us);
/* Changes with everything that changes an answer but time. */
uint64_t govern_generation(const struct govern *g);

/* The windows of this plan, from now on; takes a reference. */
void govern_use(struct govern *g, struct plan *plan);
/* All there are, from now on; copied. */
void govern_set_holds(struct govern *g, const struct govern_hold *holds, size_t count);
void govern_set_pause(struct govern *g, bool paused);
/* The store came out of a backup, and nobody has said yet what may be sent. */
void govern_set_restored(struct govern *g, bool restored);
bool govern_is_restored(struct govern *g);
/* This node may begin something until then (monotonic), unless this is called again; never
 * called: for ever. */
void govern_set_lease(struct govern *g, int64_t until_mono_us);

/* The clock of the store was read. */
enum steady_change govern_note_clock(struct govern *g, int64_t clock_us, int64_t mono_us,
                                     int64_t *ret_step_us);
/* What this clock says now: at the latest, for what ends, for what begins. */
struct govern_time {
    int64_t early_us, late_us; /* the same but while the clock is frozen */
    bool frozen;
};
struct govern_time govern_time(struct govern *g);
