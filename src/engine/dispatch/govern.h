/* govern.h - the governor: why no delivery of a system may begin now.  Holds, its window, the pause
 * of this node, a restore.
 *
 * Reasons are facts about a system, evaluated at each question.  Nothing is written to a delivery,
 * so nothing is left behind when a reason ends.  An answer is valid until `ret_ask_us` or until the
 * generation changes, whichever comes first.
 *
 * Holds and windows begin and end by the clock of the store (core/steady.h).  A node whose
 * heartbeat is overdue begins nothing: another node may have taken its work over.
 *
 * Threads: any; one short lock, under which no other is taken.
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
    int64_t system;            /* name id */
    int64_t from_us, until_us; /* until_us 0: without an end */
};

struct govern *govern_new(void);
void govern_free(struct govern *g);

/* The reasons (held_reason); 0: none.  Times are monotonic: now, and when to ask again at the
 * latest. */
unsigned govern_why(struct govern *g, int64_t system, int64_t mono_us, int64_t *ret_ask_us);
/* Changes with everything that changes an answer, except the passing of time. */
uint64_t govern_generation(const struct govern *g);

/* Use the windows of this plan from now on.  Takes a reference. */
void govern_use(struct govern *g, struct plan *plan);
/* Replaces all holds; they are copied. */
void govern_set_holds(struct govern *g, const struct govern_hold *holds, size_t count);
void govern_set_pause(struct govern *g, bool paused);
/* The store was restored from a backup, and no operator has released its deliveries yet. */
void govern_set_restored(struct govern *g, bool restored);
bool govern_is_restored(struct govern *g);
/* This node may begin deliveries until then (monotonic), and longer if it is called again.  Never
 * called: for ever. */
void govern_set_lease(struct govern *g, int64_t until_mono_us);

/* Notes a reading of the store's clock, and the monotonic time at which it was taken. */
enum steady_change govern_note_clock(struct govern *g, int64_t clock_us, int64_t mono_us,
                                     int64_t *ret_step_us);
/* The store's time now.  While its clock is frozen it is only known to lie between two bounds:
 * holds end by early_us and begin by late_us, so that both are on the safe side. */
struct govern_time {
    int64_t early_us, late_us; /* equal unless frozen */
    bool frozen;
};
struct govern_time govern_time(struct govern *g);
