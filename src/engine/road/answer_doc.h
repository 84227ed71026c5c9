/* answer_doc.h - an answer becomes a document, in the commit that settles what was answered.
 *
 * Who sends something that has an `answer` (plan_answer) gives its transfer a sink, and hands over
 * what came.  Small answers stay in memory, larger ones are uploaded to the store while they are
 * received; the upload is finished before the commit that names it.
 *
 *     answer_upload_init(&u, store, rule);   transfer.sink = &u.sink; ... done():
 *     came = answer_take(rule, &t->answer, &u, arena, &doc);
 *     answer_upload_end(&u, ...)             on a thread that may block, if answer_upload_is_open()
 *     answer_doc_add(f, doc)                 a step; legs have theirs in leg.document
 *
 * The document is from the system that answered, for the sender of the one that it answers, and of
 * the type in `answer`; `extract` overrides these when it is walked (answer_doc_extract()), so a
 * rule that does not fit costs the answer and not the delivery.  It begins at the router with the
 * version that has the rule.  It is one generation younger than what it answers.
 *
 * No document is made of
 *   an empty answer                         an answer that is larger than `most`
 *   a 202 where `within` says that the answer may come later
 * A line of the timeline says so, and with `within` the answer is awaited (store/road/awaited.h).
 * The delivery counts as done all the same: the receiver has it, and would answer the same again.
 *
 * If the commit does not come (a crash, a lost claim), neither the document nor the outcome is
 * there: what was sent is sent again or is in doubt, as without `answer`.
 *
 * Threads: answer_take() the one that has the answer; put() of the sink and answer_upload_end() one
 * that may block; all else the one that holds the flight.
 */
#pragma once

#include "base/digest.h"
#include "engine/flight/flight.h"
#include "engine/transfer/transfer.h"

struct document;
struct extract_source;
struct upload;

/* The attribute that names the rule, which no configuration can name. */
#define ANSWER_FROM STR("answer from")

/* An answer on its way to the store. */
struct answer_upload {
    struct answer_upload *next; /* an earlier one of the same leg */
    struct answer_sink sink;
    struct store *store;
    struct upload *open;
    struct digest digest;
    int64_t size;
    bool is_stored; /* it is on stable storage, and nobody has adopted it yet */
    struct payload_ref place;
    struct sha256 sha256;
};

/* What came of the question for an answer. */
enum answer_came {
    ANSWER_NOT_ASKED, /* there is no `answer`, or nothing was sent */
    ANSWER_EMPTY,
    ANSWER_LATER, /* 202 and `within` */
    ANSWER_TOO_LARGE,
    ANSWER_CAME /* it becomes a document */
};

/* A document that is made with the settlement. */
struct answer_doc {
    struct answer_doc *next;
    const struct plan_answer *rule;
    int64_t config;    /* the version that has the rule */
    struct str system; /* who answered; ptr NULL: nobody knows */
    struct str bytes;
    struct answer_upload *upload; /* NULL: all of it is in `bytes` */
    int64_t status;
    struct str ctype;
};

void answer_upload_init(struct answer_upload *u, struct store *s, const struct plan_answer *rule);
/* It has begun: answer_upload_end() is needed. */
bool answer_upload_is_open(const struct answer_upload *u);
/* Blocks.  keep: it is on stable storage when this returns true; else it is given up. */
bool answer_upload_end(struct answer_upload *u, bool keep, struct err *err);

/* Judges an answer that counts as success.  ANSWER_CAME: *ret, on the arena, with a copy of what is
 * in memory; the caller fills in config and system. */
enum answer_came answer_take(const struct plan_answer *rule, const struct http_out_answer *a,
                             struct answer_upload *u, struct arena *arena, struct answer_doc **ret);

/* A document of a step, for the settlement of the flight.  It must live as long as the flight. */
void answer_doc_add(struct flight *f, struct answer_doc *doc);
/* The answer of what `delivery` names is awaited from now on, if the rule says so. */
void answer_await(struct flight *f, const struct plan_answer *rule, struct str delivery,
                  int64_t system);

/* ---- legs ---- */

/* For the transfer of the leg, which has an `answer`. */
const struct answer_sink *answer_doc_sink(struct leg *p);
/* After the verdict, on the thread that has the answer.  True: answer_doc_store() is to be called,
 * on a thread that may block, before the leg ends. */
bool answer_doc_take(struct leg *p, const struct http_out_answer *a);
/* Finishes the upload of the leg; an answer that cannot be stored makes the verdict unclear. */
void answer_doc_store(struct leg *p);
/* The leg has its outcome: notes what came of its answer. */
void answer_doc_note(struct flight *f, struct leg *p);

/* ---- the settlement ---- */

/* Prepares the documents that the settlement makes: f->answer_parts. */
void answer_doc_fill(struct flight *f);
/* The operation that settles the flight and makes them; as parts_settlement(). */
struct store_op *answer_doc_settlement(struct flight *f, void (*settled)(struct store_op *op));
/* Uploads that no commit has adopted; `adopted`: the settlement was done. */
bool answer_doc_has_uploads(const struct flight *f, bool adopted);
void answer_doc_drop_uploads(struct flight *f, bool adopted); /* blocks */

/* ---- the walk of the document ---- */

/* Extracts what the rule says, if the flight is of an answer.  False: it is dead. */
bool answer_doc_extract(struct flight *f, const struct extract_source *source);
