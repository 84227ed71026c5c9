/* turns.h - documents that keep the same record, one after the other.
 *
 * A step `store` reads a record and the settlement of its document writes it.  Of two documents in
 * between the later one is overtaken and has run in vain (store/road/set_record.h).  So that many
 * documents with one key do not run in vain again and again, those on this node take turns: a
 * flight has the turn at a record from its step until its settlement is committed, and the others
 * wait in the order in which they came.
 *
 *     walk ──► turns_take() ──► step ... settlement ──► turns_leave() ──► the next one goes on
 *                  └─ turns_wait() ───────────────────────────┘
 *
 * This is for speed and for the order, not for safety: another node may still overtake.  A flight
 * has one turn at most; at a further record it does not wait, so that no two wait for each other.
 *
 * Bounded: `most` flights wait; further ones go back to the store for a while.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct flight;
struct turns;

enum turn_answer {
    TURN_IS_NOW, /* it has the turn: the walk goes on, on a thread that may block */
    TURN_LATER,  /* it waits; go_on() is called when it is its turn */
    TURN_FULL    /* too many wait, or the node stops */
};

/* go_on: the walk of this flight goes on, on another thread.  `most`: so many may wait. */
struct turns *turns_new(size_t most, void (*go_on)(struct flight *f));
void turns_free(struct turns *t); /* NULL is fine */

/* True: the flight has the turn at the record of this set and key, or needs none.  False: it is to
 * wait, with turns_wait(). */
bool turns_take(struct turns *t, struct flight *f, struct str set, struct str key);
enum turn_answer turns_wait(struct turns *t, struct flight *f);
/* The flight is settled, or gone: the next one goes on.  Nothing without a turn. */
void turns_leave(struct turns *t, struct flight *f);

/* The node stops: nobody waits any more.  Returns those that waited, a chain. */
struct flight *turns_close(struct turns *t);
