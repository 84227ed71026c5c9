/* settle.h - commit 2: what came of a task, in one transaction.
 *
 * A run of a document's task (TASK_RUN) ends in one of these; so does an attempt of a
 * delivery's task (TASK_DELIVER).  The claim goes, the facts, the timeline, the deliveries
 * and the tasks that follow come, and a document that is over moves to the table of the day
 * on which it may go.  Nothing is done when the claim was lost: `ours` says so.
 *
 * The fast path (everything delivered in one run) writes no delivery rows at all: the
 * timeline in the row of the ended document tells the story.
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
#include "store/road/order.h"
#include "store/road/task.h"

struct batch_join;

/* What becomes of the document (or, for TASK_DELIVER, of its claimed delivery). */
enum settle_outcome {
    SETTLE_OVER,       /* RUN: the document is over in `state`, without deliveries to keep */
    SETTLE_DELIVERIES, /* RUN: it has deliveries now, `parts`; DELIVER: the one in parts[0] changed
                        */
    SETTLE_AGAIN, /* not now: the task itself is due again at due_us (0: at once), with message */
    SETTLE_DEAD,  /* RUN: the document is a dead letter, with code and message */
    SETTLE_JOIN,  /* RUN: it is a member of a batch now, `join`, and has no task (batch.h) */
};

/* Bytes of deliveries, made by a step: stored in this commit, uploaded before it, or stored
 * with an earlier delivery. */
struct settle_bytes {
    struct str bytes; /* up to SEGMENT_PAYLOAD_MOST; ptr NULL: `stored` is given */
    bool uploaded;    /* stored.place is an upload that nobody has adopted yet */
    int64_t size;
    struct sha256 sha256;
    struct payload_source stored; /* filled in by the commit, or given: where they are */
    /* The step that made them: when they are new the line is added to the timeline, with their
     * place.  NULL: none. */
    const struct timeline_line *line;

    bool is_placed; /* the writer's own */
};

/* One delivery. */
struct settle_delivery {
    int64_t num; /* 0: a new row, gets one */
    struct str id;
    int64_t endpoint, system;  /* words */
    int64_t queue;             /* lane_queue() */
    enum delivery_state state; /* never sending or held: those are not stored */
    int64_t attempts, first_us;
    int64_t due_us;           /* RETRYING: when */
    int64_t prio;             /* of its task; 0: as the claim's */
    int64_t expires_us;       /* while it waits: dead then; 0: never */
    struct str code, message; /* of its last failure; empty: none */
    int64_t status;
    int64_t intent_us, asked;   /* DELIVER: what stays of its intent (intent.h); 0: none */
    struct str name;            /* the name it got at its receiver, once chosen (G10) */
    struct settle_bytes *bytes; /* NULL: the document's own; parts may share one */
    /* RUN, of an ordered system: its lane and its place there, and it waits (order.h); DELIVER: the
     * lane it is from.  0: none. */
    int64_t lane, seq, child;
    bool aside; /* DELIVER: it is dead, and the others of its lane may pass */

    bool is_new;   /* the writer's own: num was given by it */
    bool is_alone; /* and: its document has no other delivery */
};

enum { SETTLE_DELIVERIES_MOST = 64 };

struct settle_op {
    struct store_op op; /* verb = &settle_verb */
    struct task task;   /* the claim */
    int64_t doc;

    bool is_first;  /* RUN, claimed at birth: nothing of the document is in the store but its row */
    bool has_facts; /* RUN: the words and facts that were found; else they stay */
    int64_t sender, receiver, type, route;
    struct str facts;     /* facts_write() */
    int64_t config;       /* the version that was used; 0: as accepted */
    struct str timeline;  /* lines to add */
    int64_t gateway, seq; /* RUN: its number (order.h); 0: it has none */
    bool keep; /* RUN, with one part, in a lane: who settles it goes on with it when it may go */

    enum settle_outcome end;
    enum document_state state;     /* SETTLE_OVER */
    int64_t keep_days;             /* how long an ended document is kept ... */
    int64_t keep_cancelled;        /* ... when nothing was delivered; DELIVER only, 0: the same */
    struct settle_delivery *parts; /* SETTLE_OVER: not stored, but counted when they are given */
    size_t part_count;
    int64_t due_us;
    struct str code, message;
    struct batch_join *join; /* SETTLE_JOIN */

    /* the answer, when op.ok */
    bool ours;
    bool over;        /* the document has moved: its last delivery ended */
    struct task went; /* `keep`: its delivery may go already, this is the claim; id 0: it waits */

    /* the writer's own */
    int64_t day;
    bool goes;                /* DELIVER: its document is over with this group */
    struct order_batch going; /* of the group: in its first operation */
};

extern const struct store_verb settle_verb;

/* Counted: documents that ended, by state; deliveries that were made and that died, by
 * endpoint; documents that died (word 0). */
enum { TALLY_ENDED = 2, TALLY_DELIVERED = 3, TALLY_DEAD = 4 };

/* For verbs of the store's own, in an open transaction: a live document is over, its
 * deliveries go with it.  Its tasks are the caller's, and so is done_used() after the commit. */
struct settle_end_order {
    int64_t doc, keep_days; /* settle_end: RETAIN_BY_RULE as the rules say (retain_days.h) */
    enum document_state state;
    struct str timeline; /* lines to add */
    int64_t day;         /* the answer: its table */
};
bool settle_end(struct writer *w, struct settle_end_order *order, struct err *err);
/* The same for many that have no deliveries and no numbers in the order of acceptance. */
bool settle_end_all(struct writer *w, struct settle_end_order *orders, size_t count,
                    struct err *err);

/* Queues of tasks: the intake, and one lane for each pair of system and endpoint. */
enum { QUEUE_DELIVERIES = 1000, TASK_DELIVER = 2 };

/* The queue of a lane; made when it is new.  Blocks on the store at its first use. */
bool queue_for(struct store *s, int64_t system, int64_t endpoint, int64_t *ret, struct err *err);
/* Which lane a queue is; false: it is none. */
bool queue_target(struct store *s, int64_t queue, int64_t *ret_system, int64_t *ret_endpoint);

/* Queues above `above` that have ready tasks, up to `most`, in their order.  On SQLite tasks
 * that are claimed count too. */
bool queues_with_work(struct store *s, int64_t above, int64_t *ret, size_t most, size_t *ret_count,
                      struct err *err);

/* How many tasks stand in each lane; it counts them all. */
struct queue_depth {
    int64_t queue, ready, later;
};
enum { QUEUE_DEPTHS_MOST = 4096 };
bool queue_depths(struct store *s, struct queue_depth *ret, size_t most, size_t *ret_count,
                  struct err *err);
