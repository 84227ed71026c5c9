/* answer_take.h - an answer on its way: from the transfer to what may become a document.
 *
 * See answer_doc.h for the whole.  A small answer is copied, a larger one is uploaded by the sink
 * of its transfer, on threads of the pool; who has the transfer ends the upload.
 *
 * Threads: answer_take() the one that has the answer; put() of the sink and answer_upload_end() one
 * that may block; answer_await() the one that holds the flight.
 */
#pragma once

#include "base/digest.h"
#include "engine/flight/flight.h"
#include "engine/transfer/transfer.h"

struct upload;

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

    /* Of a step: what came, and under which key it was asked.  Without ANSWER_CAME nothing is made,
     * and the settlement says why. */
    enum answer_came came;
    struct str key;
};

void answer_upload_init(struct answer_upload *u, struct store *s, const struct plan_answer *rule);
/* It has begun: answer_upload_end() is needed. */
bool answer_upload_is_open(const struct answer_upload *u);
/* Blocks.  keep: it is on stable storage when this returns true; else it is given up. */
bool answer_upload_end(struct answer_upload *u, bool keep, struct err *err);

/* What an answer of this status and size is worth, if all of it is there. */
enum answer_came answer_came(const struct plan_answer *rule, int64_t status, int64_t size);

/* Judges an answer that counts as success.  ANSWER_CAME: *ret, on the arena, with a copy of what is
 * in memory; the caller fills in config and system. */
enum answer_came answer_take(const struct plan_answer *rule, const struct http_out_answer *a,
                             struct answer_upload *u, struct arena *arena, struct answer_doc **ret);

/* The answer of what `delivery` names is awaited until then. */
void answer_await(struct flight *f, const struct plan_answer *rule, struct str delivery,
                  int64_t system, int64_t due_us);
