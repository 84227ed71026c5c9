/* recover.h - documents that the database lost, and that their segment entries still have (SQLite).
 *
 * A database that went back in time (kernel/told.h) lacks the rows of documents that were
 * acknowledged.  Their segment entries have the payload and the record of accept, so they are taken
 * in again at start, before anything else is accepted: with their ids, as received.  The row of the
 * restore, which holds all deliveries, covers them: a person decides whether they are sent.
 *
 * Which entries.  Those of commits that the database does not have, by the number in the entry:
 * entries of documents that were purged since, and of groups that failed before, are of older
 * commits.  Of these, entries up to the last commit that was told; beyond it lies at most the group
 * that was never answered, whose senders send again: of it only documents with an idempotency key
 * are taken in, because the repetition then gets their id.  Of several entries with one document
 * number the last counts: a group that failed leaves entries, and its numbers are used again.
 *
 * Not taken in: entries that are damaged, or that follow damage in their segment, where a part of a
 * payload could pass for an entry.  They are counted.
 *
 * The first and last lost commit are marks in the database until all is taken in, so a start that
 * is interrupted goes on where it was: documents that have a row are left out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct db;
struct store;
struct told_gap;

struct recover_result {
    int64_t taken_in; /* documents */
    int64_t unread;   /* entries that are damaged, or follow damage */
};

/* In the transaction that registers the node, before its row of `restore`: notes the gap, and
 * raises the numbers of commits and documents above those that the segments have. */
bool recover_note(struct store *s, struct db *db, const struct told_gap *gap, struct err *err);

/* Takes the documents in; the writers run, and nobody else uses the store. */
bool recover_documents(struct store *s, struct recover_result *ret, struct err *err);
