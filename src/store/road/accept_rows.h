/* accept_rows.h - the rows of new documents, and their payloads, many at a time.
 *
 * For verbs that make documents (accept.c): each document has its number and id (accept_name()).
 *
 * Threads: the writers, in an open transaction.
 */
#pragma once

#include "store/road/accept.h"

/* Gives the payload its place.  On SQLite appends it to a segment with the record by which the
 * document is taken in again (store/recover.h); a large one has a file of its own, and its record
 * goes into the segment all the same.  A child has no record (offspring.c). */
bool accept_place(struct writer *w, struct accept_op *a, struct err *err);

/* The columns of a document without its number in the order (order.h). */
enum { ACCEPT_DOC = 13 };
void accept_doc_row(struct db_value *v, const struct accept_op *a);

/* The payloads that are rows (PostgreSQL). */
bool accept_add_payloads(struct writer *w, struct accept_op **fresh, size_t count, struct err *err);
/* Makes the large payloads theirs; these are on stable storage already. */
bool accept_adopt_all(struct writer *w, struct accept_op **fresh, size_t count, struct err *err);
/* Their first tasks.  A claim is a row on PostgreSQL, and a mark after the commit on SQLite ... */
bool accept_add_tasks(struct writer *w, struct accept_op **fresh, size_t count, struct err *err);
/* ... by this; false: it stays claimable. */
bool accept_claim(struct writer *w, struct task *t);
/* Counts them by gateway.  Rows belong to one writer of one node: no contention. */
bool accept_count(struct writer *w, struct accept_op **fresh, size_t count, struct err *err);
