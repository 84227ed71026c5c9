/* flight.h - one document in memory on its road, from its claim to its settlement.
 *
 * A flight is made from a document that was just accepted (claimed at birth) or from a task that
 * the claimer claimed.  A worker walks it through extract, route and steps, which makes its
 * deliveries, called legs.  When the last leg has its outcome the flight goes to the writer, and
 * after the commit it is freed.
 *
 *     born ─┐                                   ┌─ leg ─┐
 *           ├─► worker: walk ──► dispatch ──────┼─ leg ─┼──► settle ──► gone
 *     loaded┘       └── no legs ────────────────┴───────┴────────┘
 *
 * A flight of a stored delivery (TASK_DELIVER) has one leg and is not walked.
 *
 * Ownership: the memory of a flight is its arena and its buffers.  At any moment one thread holds
 * the flight, or its legs are with the dispatcher and the senders and `open` counts them.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "core/facts.h"
#include "core/timeline.h"
#include "core/verdict.h"
#include "engine/plan/plan.h"
#include "engine/threads/pool.h"
#include "engine/transfer/tokens.h"
#include "engine/transfer/transfer.h"
#include "store/road/delivery.h"
#include "store/road/settle.h"
#include "store/road/settle_batch.h"

struct answer_doc;
struct answer_making;
struct answer_upload;
struct caged;
struct called;
struct caught;
struct document;
struct flight;
struct flight_stock;
struct foretold;
struct offspring_part;
struct parts;
struct send_queue;
struct set_write;
struct turn;
struct payload_reader;
struct road;
struct store;
struct walking_place;
struct ways;

enum { FLIGHT_MADE_MOST = 32, FLIGHT_TRACE = 56 };

/* The bytes of a flight: as received, or after some steps. */
struct variant {
    struct settle_bytes settle;   /* made by a step: stored with the settlement */
    struct buf buf;               /* the bytes in memory; empty: they are only in the store */
    struct payload_source source; /* the bytes in the store, if they are too large for memory */
    struct str step;              /* the step that made them ... */
    int64_t step_number;          /* ... and which one of the run, from 1 */
    bool is_of_record; /* made of a record, so it cannot be made again: stored with the document */
    bool is_kept;      /* it cannot be made again: stored with whatever comes of the run */
    bool is_costly;    /* made in a process of its own, of no record: see step_keep_made() */
    bool is_stored;    /* an earlier run has stored it: `source` */
    int64_t status;    /* of the answer that it is, for the line; 0: it is none ... */
    struct str ctype;  /* ... or nobody will ask for them */
    struct str question; /* what it answers, if that may be another one next time (tries.h) */
    struct timeline_line line;
};

/* A step that read a record and left the bytes as they were, which the next run may not. */
struct passed_step {
    const struct passed_step *before;
    struct str step;
    int64_t number; /* which one of the run, from 1 */
};

/* What a receiver answered, to be stored with the settlement (answers.c). */
struct leg_answer {
    struct settle_bytes settle;
    struct timeline_line line; /* of the attempt; its bytes are the answer */
    int64_t came;              /* its size as it came */
    struct str ctype;
};

/* What a walk that cannot go on where it is waits for. */
enum walk_need {
    WALK_NEEDS_THREAD, /* one that may block: the pool */
    WALK_NEEDS_CAGE,   /* a process for its step (walk/caging.h) */
    WALK_NEEDS_TURN,   /* the turn at a record (turns.h) */
    WALK_NEEDS_ANSWER, /* the answer of a service (asking/calling.h) */
};

/* The facts with which the router was asked; on the arena. */
struct walk_visit {
    const struct walk_visit *before;
    struct str sender, receiver, type;
};

/* How far the walk has come: all it needs to go on later, on another thread (walk/walk.h). */
struct walk_at {
    bool begun;                      /* it has looked for the facts */
    bool entered;                    /* it has had a route, or the chain of its batch */
    bool in_route;                   /* f->route is under way; else the router is asked next */
    bool routed;                     /* the router gave f->route; else it is the chain of a batch */
    size_t step;                     /* of f->route, the one that is next or waits */
    struct variant *bytes;           /* what that step reads */
    const struct walk_visit *visits; /* the router's questions before, the latest first */
    size_t hops;                     /* how many these are */
    enum walk_need need;             /* while it waits */
};

/* Who gets copies of the document, and of which bytes (walk/copies.h). */
struct flight_copies {
    const struct str *receivers; /* on the arena; names of systems */
    size_t count;
    struct variant *bytes;
};

/* One delivery, in memory. */
struct leg {
    struct leg *next;           /* in the memory of its queue, or in a chain of the caller */
    struct leg *before, *after; /* the other legs of its system that have slots */
    struct flight *flight;
    struct send_queue *queue;
    struct plan
        *plan; /* the newest plan, for this attempt: a reference; NULL if it is the flight's */
    const struct plan_endpoint *endpoint; /* in that plan */
    enum doubt_policy in_doubt;           /* the policy of its system */
    struct variant *variant;
    struct settle_delivery row;
    enum leg_noted {
        LEG_NOT_NOTED,
        LEG_NOTED_WAITING,
        LEG_NOTED_SENDING
    } noted;          /* what the store knows of it (run/slow.h); under the dispatcher's lock */
    bool loaded;      /* claimed as a row of the store; else made here, by a walk */
    bool probe;       /* the one attempt through an open breaker */
    bool blocking;    /* it occupies a sender, a thread that may block */
    bool asking;      /* the receiver is asked whether it has the delivery (doubt.c) */
    bool direct;      /* begun by the thread that holds the flight: it may use the flight's arena */
    struct arena own; /* for a leg that began later, on any thread */
    /* Since when it waits or is being sent (monotonic), and how long the attempt took; -1: none. */
    int64_t began_us, took_us;
    unsigned held_why; /* why it was parked (held_reason) */

    struct sending sending;
    struct leg_login {
        struct token_wait wait;
        void (*go_on)(struct leg *p, const struct verdict *failed); /* after it has waited */
        uint64_t number;                                            /* of the token that it has */
        bool renewed; /* the receiver refused the first one of this attempt */
    } login;          /* of an endpoint that needs a token (run/login.h) */
    struct leg_envelope {
        enum { ENVELOPE_BEFORE, ENVELOPE_BYTES, ENVELOPE_OVER } stage; /* of a large body */
        size_t skip;                                                   /* bytes that are left out */
        bool (*next)(void *arg, struct str *ret, struct err *err);     /* of the document */
        char *bytes; /* a small body, with the document in it; its own */
    } envelope;      /* what is sent around the document (run/envelope.h) */
    struct http_out_request *request;
    struct transfer transfer;
    struct payload_reader *reader; /* for bytes that are only in the store */
    struct err read_err;           /* why these could not be read */
    struct leg_answer *answer;     /* on `own`; NULL: none is kept */
    struct answer_upload *upload;  /* on `own`: takes a large answer (walk/answer_doc.h); NULL */
    struct answer_doc *document;   /* on `own`: is made with the settlement; NULL: none */
    int answer_came;               /* enum answer_came */
    struct verdict verdict;
    struct pool_job job; /* for a thread that may block: ends the upload of its answer */
};

struct flight {
    struct settle_op settle;
    struct flight *next;
    struct flight_stock *stock; /* takes it back when it is freed */
    struct road *road;
    struct plan *plan; /* the plan under which it runs; a reference */
    struct arena arena;

    struct payload_source source; /* id, num, size, sha256, place */
    char id[40];                  /* as text */
    char traceparent[FLIGHT_TRACE];
    int64_t gateway, received_us, config, again, seq, child;
    struct str name, ctype, head;
    struct facts facts;
    bool has_facts; /* from an earlier run: extraction is skipped */
    const struct plan_route *route;
    const struct plan_batch *batch; /* the batch that it is the document or was a member of */
    struct batch_join join;         /* SETTLE_JOIN: for the settlement */
    const struct plan_batch *into;  /* SETTLE_JOIN: the batch */
    struct variant *joins;          /* SETTLE_JOIN: the bytes that it joins with */
    int64_t prio;                   /* of its deliveries; 0: as its task's */
    int64_t expires_us;             /* of its deliveries; 0: never */

    struct variant received;
    /* By its steps, in their order; on the arena.  With one too many the document is dead. */
    struct variant *made[FLIGHT_MADE_MOST + 1];
    size_t made_count;
    bool keeps_all;     /* in memory, also bytes that nobody sends and no later step reads */
    bool keeps_stages;  /* they are stored as well (`keep: stages`) */
    int64_t step_count; /* steps that ran */
    struct walk_at walk;
    bool may_block;        /* the thread that walks it may block */
    bool holds_large;      /* it holds stock->large */
    struct caged *caged;   /* at a step that runs in a process; on the arena */
    struct called *called; /* at a step that asks a service; on the arena */
    struct parts *parts;   /* documents that its last step made (walk/parts.h); NULL: none */
    struct flight_copies copies;
    struct variant *peeked;              /* whose first bytes are in memory, under stock->peeking */
    struct answer_doc *answers;          /* of its steps (walk/answer_doc.h) */
    struct offspring_part *answer_parts; /* of its steps and legs, for the settlement */
    size_t answer_count;
    struct answer_making *making;
    struct awaited *awaits; /* for the settlement; with room for `wait_room` */
    size_t wait_room;

    /* Records (walk/keyed.h, turns.h). */
    bool reads_records;        /* what it sends is stored first: the next run could make others */
    struct set_write *records; /* those that the settlement writes, on the arena; NULL: none */
    struct turn *turn;         /* at a record; NULL: it has none */
    struct str turn_set, turn_key; /* the record at which it has the turn, or waits for it */
    /* Steps that read one and changed nothing; on the arena, the latest first. */
    const struct passed_step *passed;

    struct leg **legs;
    size_t leg_count, part_room;
    _Atomic int open; /* legs without an outcome */

    struct str past;             /* the stored timeline, if the document was loaded */
    struct buf timeline, stages; /* new lines; and the same in short, for the log */
    int64_t began_us;            /* monotonic */
    struct pool_job job;         /* for a thread that may block: walks it, or frees it */
    struct walking_place *place; /* where its walk is shown (road/walking.h); NULL: nowhere */
    struct walking_place *waits; /* the same while it waits */
    int64_t counted;             /* its bytes in road.bytes */
    bool was_born;               /* claimed at birth */
    bool recovered;              /* it may have been sent before a crash */
    bool dry;                    /* a rehearsal or a question, without effect (dry.h) */
    struct caught *caught;       /* of a dry one: what a step made; NULL: nobody wants it */
    struct foretold *foretold;   /* of a dry one: what services answer; NULL: nobody knows */
    int64_t until_us;            /* monotonic: a dry walk ends before the next step; 0: never */
    int tries;                   /* failed settlements */
    bool unfilled;               /* the settlement could not be prepared, and was not submitted */
    bool refused;                /* its last parts are beyond a limit of the store */
    bool unknown;                /* a commit of the settlement had an unknown outcome */
    bool give_back;              /* the claim is to be given back, nothing else */
    bool delayed;                /* SETTLE_AGAIN because of a delay, not of a failure */
    bool noted;                  /* some of its legs are: until the last ended, as leg.noted */
    bool unloaded;               /* only the claim is known: the claimer loads the rest */
    enum dead_code dead;         /* if settle.end is SETTLE_DEAD */
    char message[VERDICT_MESSAGE_MOST];
};

/* Idle flights with their buffers, and what all flights share. */
struct flight_stock {
    struct store *store;
    struct ways *ways;
    struct road *road;
    pthread_mutex_t large;     /* held while a large document is in memory: one at a time */
    pthread_mutex_t peeking;   /* held while the beginning of one is; taken last */
    pthread_mutex_t computing; /* held while a stage is computed again; taken before `large` */

    pthread_mutex_t mutex; /* guards the fields below */
    struct flight *idle;
    size_t idle_count;
};

struct flight_stock *flight_stock_new(struct store *store, struct ways *ways, struct road *road);
void flight_stock_free(struct flight_stock *s); /* NULL is fine */

/* An empty flight.  The caller counts it in road.flights, unless it is dry. */
struct flight *flight_new(struct flight_stock *s);
void flight_free(struct flight *f); /* back to the stock */

/* The sender waits for the receiver's answer (`reply: receiver`), or did.  What was made of such a
 * document has its head, and answers nobody. */
bool flight_has_caller(const struct flight *f);

/* Derives the W3C traceparent of its requests from the document's id, so that a replay sends the
 * same. */
void flight_trace(struct flight *f);

/* Copies the columns of the document's row ... */
void flight_fill(struct flight *f, const struct document *d);
/* ... and its facts as they are now ... */
void flight_fill_facts(struct flight *f, const struct document *d);
/* ... or its facts as they were at the start of its way, for a new run. */
void flight_begin_again(struct flight *f, const struct document *d);
/* The same with all that its row says about the run, for a flight that has its plan: whether it
 * comes out of a batch, and whether it has facts, as a part or a retry from the router
 * (operate.h) has. */
void flight_begin_run(struct flight *f, const struct document *d);

/* Each adds a line to the timeline and its short form to the stages of the log line. */
void flight_note(struct flight *f, enum timeline_stage stage, enum timeline_outcome outcome,
                 struct str what, int64_t took_us, const char *message);
/* A step was tried, and is tried again later. */
void flight_note_try(struct flight *f, struct str step, int64_t attempt, int64_t status,
                     int64_t took_us, const char *message);
/* The step leaves the bytes as they are in the next run too (tries.h). */
void flight_note_passed(struct flight *f, const struct passed_step *p);
void flight_note_leg(struct flight *f, const struct leg *p, enum timeline_outcome outcome,
                     int64_t took_us, const char *message);

/* New bytes, made by the step that ran last; they take over `bytes`. */
struct variant *flight_add_made(struct flight *f, struct str step, struct buf *bytes);
/* A new delivery. */
struct leg *flight_add_leg(struct flight *f, const struct plan_endpoint *e,
                           const struct plan_system *system);
/* A delivery that has a row. */
struct leg *flight_add_stored(struct flight *f, const struct delivery *d);
