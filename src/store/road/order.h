/* order.h - lanes: deliveries in order, as the store keeps them.
 *
 * A document that is accepted while some system is ordered gets a number, seq; until it is
 * routed it is open (order_open).  A delivery of an ordered system waits in its lane, without a
 * task, in the order of (seq, child).  When nothing of the lane is on its way and no open
 * document of its gateway stands before it, the head gets a task: it goes, and from there on it
 * is a delivery like all others.  It stays on its way until it is delivered or cancelled, or is
 * dead and steps aside; so one that waits for its retry, is held, dead or in doubt holds up its
 * lane, and a crash changes nothing.
 *
 * The head is found in the commit that lets it go: the end of the one before it, or its own
 * routing.  What that commit cannot see (an open document that another node routes) is asked for
 * again a moment later (order_ask_again()), and order_scan() finds everything that was missed.
 *
 * Invariants
 *   (1) at most one delivery of a lane is on its way (turn 2); after a restore several may
 *       stand there in doubt (restore.h), and none of them is sent.
 *   (2) the number of a document is higher than that of any that was committed before.
 *
 * Bounded: ORDER_ASKING_MOST lanes are asked for again, others wait for the scan.
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/state.h"
#include "store/kernel/writer.h"
#include "store/road/task.h"

struct store;

enum { ORDER_ASKING_MOST = 4096, ORDER_SCAN_MOST = 256 };
enum order_turn { TURN_NONE, TURN_WAITS, TURN_GOES };

/* A delivery that may go: its task is ready, or claimed for who keeps it in memory. */
struct order_going {
    int64_t num, lane, queue, prio, rank;
    bool own; /* its run was settled in the same commit, and who settled it goes on (settle.h) */
    bool claimed; /* `task` is a claim */
    struct task task;
};

struct order *order_new(void);
void order_free(struct order *o); /* NULL is fine */

/* Documents that are accepted from now on are numbered, or not. */
void order_number(struct store *s, bool numbered);
bool order_is_numbered(struct store *s);
/* Who is told what may go, after the commit, on the writer's thread; with none: somebody
 * operated on documents, and lanes may be free. */
struct order_listener {
    void (*going)(void *arg, const struct order_going *going, size_t count);
    /* Does this node keep the delivery in memory?  Then its task comes claimed. */
    bool (*keeps)(void *arg, int64_t delivery);
    void *arg;
};
void order_listen(struct store *s, const struct order_listener *listener); /* NULL: nobody */

/* ---- asking again ---- */

/* Some lanes are to be asked for again. */
bool order_is_asking(struct store *s);
bool order_ask_again(struct store *s, struct err *err);

/* A lane whose first delivery waits for a person. */
struct order_stop {
    int64_t lane, delivery, system;
    enum delivery_state state; /* dead or in doubt */
    bool blocks;               /* others wait behind it */
    struct str document, id;
};

struct order_scan {
    struct order_stop stops[ORDER_SCAN_MOST];
    size_t stop_count, lane_count;
    int64_t above; /* where it goes on */
    bool more;
};

/* Look at the lanes above one (-1: from the first), let go what may go, and tell which stand. */
bool order_scan(struct store *s, int64_t above, struct arena *a, struct order_scan *ret,
                struct err *err);
/* A dead delivery lets the others pass. */
bool order_step_aside(struct store *s, int64_t delivery, struct err *err);

/* Which document is on its way in this lane, or stands first; empty: none but this delivery. */
bool order_before(struct store *s, int64_t lane, int64_t delivery, struct arena *a,
                  struct str *ret_document, enum delivery_state *ret_state, struct err *err);

/* ---- for verbs of the store's own, in an open transaction ---- */

struct order_batch {
    struct order_going *going;
    size_t count;
};

/* The first of n numbers (PostgreSQL). */
bool order_take_numbers(struct writer *w, size_t n, int64_t *ret_first, struct err *err);
struct order_lanes {
    const int64_t *lanes;
    size_t count;
    bool closed;        /* documents were routed, so lanes that wait for that are looked at too */
    const int64_t *own; /* deliveries that come claimed for who settles their runs now */
    size_t own_count;
};

/* Let the heads of these lanes go, where they may. */
bool order_let_go(struct writer *w, const struct order_lanes *which, struct order_batch *ret,
                  struct err *err);
/* After the commit. */
void order_tell(struct writer *w, const struct order_batch *batch);
