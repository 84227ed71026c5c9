/* order.h - lanes: deliveries in order, as the store keeps them.
 *
 * A document that is accepted while some system is ordered gets a number, seq; until it is
 * routed it is open (table order_open).  A delivery of an ordered system waits in its lane,
 * without a task, in the order of (seq, child).  When no delivery of the lane is on its way and
 * no open document of the gateway has a smaller number, the first one, the head, gets a task: it
 * goes, and is then processed like any other delivery.  It is on its way until it is delivered
 * or cancelled, or is dead and steps aside.  So a delivery that waits for its retry, is held,
 * dead or in doubt blocks its lane, also over a crash.
 *
 * A document that is made of another one (offspring.h) has the number of that one.  `child` orders
 * those of one number: a document that came in through a gateway has child 0 and the span
 * ORDER_SPAN; children have children and spans of their own within the span of their parent.  So
 * they stand at its place, also children of children.  The child of a delivery is that of its
 * document, times ORDER_DELIVERIES, and its own index (order_child()).
 *
 * The head gets its task in the commit that frees the lane: the one that ends the delivery before
 * it, or the one that routes its own document.  What that commit cannot see (an open document
 * that another node routes) is checked again a moment later (order_ask_again()), and order_scan()
 * finds every lane that was missed.  order.c says why this is right; docs/order.md has the
 * guarantees.
 *
 * Invariants
 *   (1) at most one delivery of a lane is on its way (TURN_GOES).  After a restore several may
 *       be, all of them in doubt (restore.h); none of those is sent.
 *   (2) a new number is higher than that of any document committed before.  A document that is
 *       routed again, is made of another one, or takes another's place (accept.h: keeps_seq), has
 *       the old number.  No two open documents have the same number and child.
 *
 * Bounded: ORDER_ASKING_MOST lanes are checked again, others wait for the scan.
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
/* Of a document: at most ORDER_DELIVERIES deliveries, and the span of one that came in. */
enum { ORDER_DELIVERIES = 64 }; /* order_head in sql/order.sql shifts by 6 */
#define ORDER_SPAN (INT64_C(1) << 56)

/* The child of a delivery. */
static inline int64_t order_child(int64_t document_child, size_t index)
{
    return document_child * ORDER_DELIVERIES + (int64_t)index;
}

enum order_turn { TURN_NONE, TURN_WAITS, TURN_GOES };

/* A delivery that may go: its task is ready, or claimed for the flight that keeps the delivery in
 * memory. */
struct order_going {
    int64_t num, lane, queue, prio, rank;
    bool own;     /* its run is settled in the same commit, with `keep` (settle.h) */
    bool claimed; /* `task` is a claim */
    struct task task;
};

struct order *order_new(void);
void order_free(struct order *o); /* NULL is fine */

/* Whether documents that are accepted from now on get numbers. */
void order_number(struct store *s, bool numbered);
bool order_is_numbered(struct store *s);
/* Notified after the commit, on the writer's thread. */
struct order_listener {
    /* These deliveries may go.  count 0: a manual action changed documents, and lanes may have
     * become free. */
    void (*going)(void *arg, const struct order_going *going, size_t count);
    /* Does this node keep the delivery in memory?  Then its task comes claimed.  Called in the
     * transaction. */
    bool (*keeps)(void *arg, int64_t delivery);
    void *arg;
};
void order_listen(struct store *s, const struct order_listener *listener); /* NULL: none */

/* ---- checking again ---- */

/* There are lanes to check again; order_ask_again() checks them. */
bool order_is_asking(struct store *s);
bool order_ask_again(struct store *s, struct err *err);

/* A lane whose delivery on its way waits for a person. */
struct order_stop {
    int64_t lane, delivery, system;
    enum delivery_state state; /* dead or in doubt */
    bool blocks;               /* other deliveries wait behind it */
    struct str document, id;
};

struct order_scan {
    struct order_stop stops[ORDER_SCAN_MOST];
    size_t stop_count, lane_count;
    int64_t above; /* the lane after which the next page begins */
    bool more;
};

/* One page of the lanes above a lane (-1: from the first): gives tasks to the heads that may go,
 * and reports the lanes that are stopped. */
bool order_scan(struct store *s, int64_t above, struct arena *a, struct order_scan *ret,
                struct err *err);
/* A dead delivery leaves its lane, so that the next one may go. */
bool order_step_aside(struct store *s, int64_t delivery, struct err *err);

/* The document whose delivery is on its way in this lane, or else waits first, apart from this
 * delivery; empty: none. */
bool order_before(struct store *s, int64_t lane, int64_t delivery, struct arena *a,
                  struct str *ret_document, enum delivery_state *ret_state, struct err *err);

/* ---- for verbs of the store, in an open transaction ---- */

struct order_batch {
    struct order_going *going;
    size_t count;
};

/* The first of n numbers (PostgreSQL).  Locks the numbers until the commit. */
bool order_take_numbers(struct writer *w, size_t n, int64_t *ret_first, struct err *err);
struct order_lanes {
    const int64_t *lanes;
    size_t count;
    bool closed;        /* documents were routed: also check the lanes that wait for that */
    const int64_t *own; /* deliveries whose tasks come claimed for the flights that settle now */
    size_t own_count;
};

/* Give tasks to the heads of these lanes, where they may go.  The result is in the group's arena.
 */
bool order_let_go(struct writer *w, const struct order_lanes *which, struct order_batch *ret,
                  struct err *err);
/* After the commit: marks the claims (SQLite), notifies the listener. */
void order_tell(struct writer *w, const struct order_batch *batch);
