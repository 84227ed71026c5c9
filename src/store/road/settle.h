/* settle.h - commit 2: the result of a task, in one transaction.
 *
 * A run of a document's task (TASK_RUN) ends with a settlement; so does an attempt of a
 * delivery's task (TASK_DELIVER).  It removes the claim, writes the facts, the timeline, the
 * deliveries and the tasks that follow, and moves a document that has ended to the table of
 * the day on which it may be purged.  If the claim was lost nothing is done and `ours` is false.
 *
 * The fast path (everything delivered in one run) writes no delivery rows: the timeline in
 * the row of the ended document has their story.  settle.c has the invariants.
 *
 * The operation is embedded in the caller's object; everything it points to is lent until
 * done().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/state.h"
#include "core/timeline.h"
#include "store/kernel/writer.h"
#include "store/payload/payload.h"
#include "store/road/awaited.h"
#include "store/road/order.h"
#include "store/road/task.h"

struct batch_join;
struct set_write;

/* What becomes of the document (or, for TASK_DELIVER, of its claimed delivery). */
enum settle_outcome {
    /* RUN: the document ends in `state`; none of its deliveries is stored. */
    SETTLE_OVER,
    /* RUN: the document has the deliveries in `parts`; DELIVER: parts[0] is the new state. */
    SETTLE_DELIVERIES,
    /* The same task is due again at due_us (0: at once), with message. */
    SETTLE_AGAIN,
    /* RUN: the document is a dead letter, with code and message. */
    SETTLE_DEAD,
    /* RUN: the document becomes a member of a batch, `join`, and has no task (batch.h). */
    SETTLE_JOIN,
};

/* Bytes that a step made for deliveries: stored in this commit, uploaded before it, or stored
 * with an earlier delivery. */
struct settle_bytes {
    struct str bytes; /* up to SEGMENT_PAYLOAD_MOST; ptr NULL: `stored` is given */
    bool uploaded;    /* stored.place is an upload that no document has adopted yet */
    int64_t size;
    struct sha256 sha256;
    struct payload_source stored; /* their place: filled in by the commit, or given */
    /* The line of the step that made them; it is added to the timeline with their place, when
     * they are stored by this commit.  NULL: none. */
    const struct timeline_line *line;

    bool is_placed; /* for the writer */
};

/* One delivery. */
struct settle_delivery {
    int64_t num; /* 0: it is new and gets a number and a row */
    struct str id;
    int64_t endpoint, system;  /* name ids */
    int64_t queue;             /* queue_for() */
    enum delivery_state state; /* not sending or held: those are never stored */
    int64_t attempts, first_us;
    int64_t due_us;           /* RETRYING: when it is tried again */
    int64_t prio;             /* of its task; 0: that of the claimed task */
    int64_t expires_us;       /* if it still waits then, it is dead; 0: never */
    struct str code, message; /* of its last failure; empty: none */
    int64_t status;
    int64_t intent_us, asked;   /* DELIVER: the intent that remains (intent.h); 0: none */
    struct str name;            /* its name at the receiver, or whatever else its endpoint keeps
                                 * from attempt to attempt (sending.note); empty: none */
    struct settle_bytes *bytes; /* NULL: the document's own; deliveries may share them */
    /* The receiver's answer to this attempt, in memory, with stored.id and its line, which goes to
     * the end of the timeline; NULL: none is kept. */
    struct settle_bytes *answer;
    /* Of an ordered system.  RUN: the lane in which it waits, and its place there (order_child());
     * DELIVER: the lane it is from.  0: none. */
    int64_t lane, seq, child;
    bool aside; /* DELIVER: it is dead and leaves its lane */

    bool is_new;   /* for the writer: this commit numbered it */
    bool is_alone; /* for the writer: its document has no other delivery */
};

enum { SETTLE_DELIVERIES_MOST = ORDER_DELIVERIES };

struct settle_op {
    struct store_op op; /* verb = &settle_verb */
    struct task task;   /* the claim */
    int64_t doc;

    bool is_first;  /* RUN, claimed at birth: the document has no deliveries in the store */
    bool has_facts; /* RUN: the name ids and facts below are new; else the stored ones stay */
    int64_t sender, receiver, type, route;
    struct str facts;     /* facts_write() */
    int64_t config;       /* the version that was used; 0: the stored one stays */
    struct str timeline;  /* lines to add */
    bool trims;           /* the stored timeline is full: lines are left out of its middle */
    int64_t gateway, seq; /* RUN: its number (order.h); seq 0: none ... */
    int64_t child;        /* ... and its place in it */
    /* RUN, with one delivery, in a lane: the flight keeps it in memory until it may go. */
    bool keep;

    enum settle_outcome end;
    enum document_state state;     /* SETTLE_OVER */
    int64_t keep_days;             /* how long the document is kept when it ends ... */
    int64_t keep_cancelled;        /* ... and if nothing was delivered; DELIVER only, 0: the same */
    struct settle_delivery *parts; /* SETTLE_OVER: may be given to be counted; not stored */
    size_t part_count;
    int64_t due_us;
    struct str code, message;
    struct batch_join *join; /* SETTLE_JOIN */
    /* RUN: bytes that are stored although no delivery may have them; a delivery may share them. */
    struct settle_bytes **stages;
    size_t stage_count;
    /* RUN: records to be written (set_record.h), if they are as they were read. */
    const struct set_write *records;
    size_t record_count;
    /* Answers that are awaited from now on, of deliveries that are done. */
    const struct awaited *waits;
    size_t wait_count;
    struct answered answers; /* RUN: the document that it answers; doc 0: none */
    bool aloft;              /* deliveries of the flight were noted (aloft.h) */

    /* the answer, when op.ok */
    bool ours;
    bool overtaken;   /* not ours, because a record changed; the claim holds: run again */
    bool over;        /* the document has ended and moved to the table of `day` */
    struct task went; /* `keep`: the claim of its delivery, which may go; id 0: it waits */

    /* for the writer */
    bool recorded;   /* its records are written in this transaction */
    struct str told; /* `timeline` with the lines of the answers */
    int64_t day;
    bool goes;                /* DELIVER: its document ends with this group */
    struct order_batch going; /* of the whole group; only in its first operation */
};

extern const struct store_verb settle_verb;

/* Counts: ended documents by state; deliveries that were delivered or died, by endpoint; documents
 * that died, as TALLY_DEAD with name id 0. */
enum { TALLY_ENDED = 2, TALLY_DELIVERED = 3, TALLY_DEAD = 4 };

/* For verbs of the store, in an open transaction: ends a live document and deletes its delivery
 * rows.  The caller deletes its tasks, and calls done_used() after the commit. */
struct settle_end_order {
    int64_t doc, keep_days; /* settle_end(): or RETAIN_BY_RULE (retain_days.h) */
    enum document_state state;
    struct str timeline; /* lines to add */
    int64_t day;         /* the answer: the table it moved to */
};
bool settle_end(struct writer *w, struct settle_end_order *order, struct err *err);
/* The same for many documents without deliveries and without open numbers (order.h). */
bool settle_end_all(struct writer *w, struct settle_end_order *orders, size_t count,
                    struct err *err);

/* The same, before the settlement in the same transaction: writes its records; *ret_done false: it
 * was overtaken, and must not be settled. */
bool settle_records(struct writer *w, struct settle_op *o, bool *ret_done, struct err *err);
/* The same, before a settlement: writes the facts of a run to the row of its live document. */
bool settle_facts(struct writer *w, struct settle_op *o, struct err *err);

/* Queues of tasks: the intake's, and one for each pair of system and endpoint. */
enum { QUEUE_DELIVERIES = 1000, TASK_DELIVER = 2 };

/* The queue of a pair, made if it is new.  Blocks on the store at its first use. */
bool queue_for(struct store *s, int64_t system, int64_t endpoint, int64_t *ret, struct err *err);
/* The pair of a queue; false: the queue is not that of a pair. */
bool queue_target(struct store *s, int64_t queue, int64_t *ret_system, int64_t *ret_endpoint);

/* Queues above `above` that have ready tasks, up to `most`, ascending.  On SQLite claimed tasks
 * count, too. */
bool queues_with_work(struct store *s, int64_t above, int64_t *ret, size_t most, size_t *ret_count,
                      struct err *err);

/* How many tasks each queue of deliveries has; counts row by row, so it is slow.  `ready` includes
 * deliveries that wait in lanes. */
struct queue_depth {
    int64_t queue, ready, later;
};
enum { QUEUE_DEPTHS_MOST = 4096 };
bool queue_depths(struct store *s, struct queue_depth *ret, size_t most, size_t *ret_count,
                  struct err *err);
