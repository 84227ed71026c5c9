/* offspring.h - documents made of a claimed one, in one transaction.
 *
 * A run that makes documents (split, copies for subscribers), or an attempt whose answer becomes
 * one, hands them over in chunks: up to OFFSPRING_PARTS_MOST, with up to OFFSPRING_BYTES_MOST in
 * memory.  A chunk is one commit: payloads, documents, their tasks and links, and either the
 * progress of the parent or its settlement.  If the claim was lost nothing is done.
 *
 * Parts (LINK_SPLIT) may take many chunks.  `from` says how many parts were committed before; a
 * chunk that does not go on where the store is has no effect.  So a run that begins again after
 * a crash asks for the progress, makes the same parts, and leaves out those that exist.  All other
 * kinds are made in the commit that settles the claim, and are not counted; an attempt of a
 * delivery makes nothing but answers.  Settlements that make answers and nothing else have a verb
 * of their own: many of them share a commit.
 *
 * A child has the gateway, the caller and the head of its parent, and its place in the order
 * (order.h); it begins at the router, with the facts that are given (core/part.h).  An answer has
 * nobody's head and no caller: who sent its parent did not send it.  A child may be claimed in the
 * commit that makes it, as a document is that was just accepted (accept.h).  offspring.c has the
 * invariants.
 *
 * Without space on the disk a chunk is refused, as accept is; the claim stays.  Uploads of a chunk
 * that was not made still belong to the caller.
 *
 * The operation is embedded in the caller's object; everything it points to is lent until done().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/id.h"
#include "base/str.h"
#include "store/kernel/writer.h"
#include "store/payload/payload.h"
#include "store/road/link.h"
#include "store/road/order.h"
#include "store/road/task.h"

struct settle_op;

enum {
    OFFSPRING_PARTS_MOST = 1000,                    /* of a chunk */
    OFFSPRING_ANSWERS_MOST = ORDER_DELIVERIES + 64, /* beside these: of deliveries, of steps */
    OFFSPRING_BYTES_MOST = 4 << 20,                 /* of a chunk, in memory */
    OFFSPRING_TOTAL_MOST = 1 << 20 /* parts of an ordered document, if `total` is not known */
};

/* A new document. */
struct offspring_part {
    enum link_kind kind;
    struct str bytes; /* up to SEGMENT_PAYLOAD_MOST */
    bool is_uploaded; /* or an upload that no document has adopted yet */
    struct payload_ref uploaded;
    int64_t size;
    struct sha256 sha256;
    int64_t sender, receiver, type; /* name ids; 0: none */
    int64_t config;                 /* the version that it begins with; 0: that of the operation */
    struct str facts;               /* facts_write() */
    struct str name, ctype;         /* empty: none */
    struct str timeline;            /* its first lines */
    bool claim_wanted; /* the caller has room for its flight: its task should come claimed */

    /* the answer, when `made` */
    struct id id;
    int64_t num;
    struct payload_ref place;
    int64_t seq, child; /* its place in the order (order.h); 0: none */
    bool claimed;       /* `task` is a claim; may be false also when claim_wanted is set */
    struct task task;
};

enum offspring_result {
    OFFSPRING_MADE,
    OFFSPRING_LOST,      /* the claim was lost: nothing was done */
    OFFSPRING_OVERTAKEN, /* a record of `end` changed: nothing was done, the claim holds */
    OFFSPRING_ELSEWHERE  /* not `from` or not `config`: nothing was done, `progress` has both */
};

struct offspring_progress {
    int64_t made;    /* parts that are committed */
    int64_t total;   /* of so many; 0: not known yet */
    int64_t config;  /* the version that makes them; 0: nothing is made yet */
    int64_t earlier; /* parts that were made before it was started again, with --again */
};

struct offspring_op {
    struct store_op op; /* verb = &offspring_verb, or one of the others below */
    struct task task;   /* the claim */
    int64_t doc;        /* the parent */
    int64_t config;     /* the version that its run uses, and that the children begin with */
    int64_t from;       /* parts that were committed before */
    int64_t total;      /* children there will be; 0: not known yet */
    struct offspring_part *parts; /* answers last */
    size_t count;                 /* may be 0 with `end` */
    struct settle_op *end; /* its settlement is a part of the commit; NULL: more chunks follow */

    /* the answer, when op.ok */
    enum offspring_result result;
    struct offspring_progress progress; /* after the commit */

    /* for the writer */
    int64_t received_us;
    struct store_op *end_ops[1];
};

extern const struct store_verb offspring_verb;
/* The same for operations that settle and are soon done: many of them share a commit. */
extern const struct store_verb offspring_few_verb;
enum { OFFSPRING_FEW_PARTS = 32, OFFSPRING_FEW_BYTES = 256 << 10 };
/* The same for operations that settle, and whose children are all answers: the progress of the
 * parent is neither asked for nor changed. */
extern const struct store_verb offspring_answers_verb;

/* What is committed of the parts of a document; all 0: none, or it has none. */
bool offspring_get(struct store *s, int64_t doc, struct offspring_progress *ret, struct err *err);
