/* answer_doc.h - an answer becomes a document, in the commit that settles what was answered.
 *
 * Who sends something that has an `answer` (plan_answer) gives its transfer a sink, and hands over
 * what came.  Small answers stay in memory, larger ones are uploaded to the store while they are
 * received; the upload is finished before the commit that names it.
 *
 *     answer_upload_init(&u, store, rule);   transfer.sink = &u.sink; ... done():
 *     came = answer_take(rule, &t->answer, &u, arena, &doc);
 *     answer_upload_end(&u, ...)             on a thread that may block, if answer_upload_is_open()
 *     answer_doc_add(f, doc)                 a step (answer_step.h); legs have it in leg.document
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
 * Threads: answer_doc_take() the one that has the answer; answer_doc_store() and
 * answer_doc_drop_uploads() one that may block; all else the one that holds the flight.
 */
#pragma once

#include "engine/walk/answer_take.h"

struct extract_source;

/* The attribute that names the rule, which no configuration can name. */
#define ANSWER_FROM STR("answer from")

/* What a step was answered, for the settlement of the flight, behind those before it.  It must live
 * as long as the flight. */
static inline void answer_doc_add(struct flight *f, struct answer_doc *doc)
{
    struct answer_doc **at = &f->answers;

    while (*at != NULL)
        at = &(*at)->next;
    *at = doc;
}

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
