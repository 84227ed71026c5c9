/* answers.h - what receivers answer, kept with the attempt that was answered.
 *
 * The endpoint's `keep: { answers: ... }` says which.  An answer is stored as the bytes of a step
 * are, and the line of its attempt in the timeline names their place.  Nothing is copied for an
 * answer that is not kept: with the default that is every 2xx, unless the sender of the document
 * waits for it (`reply: receiver`), who gets it from there.
 *
 * Bounds: VERDICT_ANSWER_MOST bytes of an answer; of a document, ANSWERS_MOST answers and
 * ANSWERS_BYTES_MOST bytes.  What ends a delivery is kept beyond that.  An answer that repeats the
 * one before it is kept once.
 */
#pragma once

struct http_out_answer;
struct leg;
struct settle_bytes;

/* After the verdict, on the thread that has the answer. */
void answers_take(struct leg *p, const struct http_out_answer *a);

/* Once the leg has its outcome: what the settlement stores; NULL: nothing. */
struct settle_bytes *answers_keep(struct leg *p);
