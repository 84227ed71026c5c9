/* recover.h - documents that the database lost, and that their segment entries still have (SQLite).
 *
 * A database that went back in time (kernel/told.h) lacks the rows of documents that were
 * acknowledged.  Their segment entries have the payload and the record of accept, so they are taken
 * in again at start, before anything else is accepted: with their ids, as received.  The row of the
 * restore, which holds all deliveries, covers them: a person decides whether they are sent.
 *
 * Which entries.  Those of commits that the database does not have, by the number in the entry:
 * entries of documents that were purged since are of older commits.  Of these, entries up to the
 * last commit that was told; beyond it lies at most the group that was never answered, whose
 * senders send again: of it only documents with an idempotency key are taken in, because the
 * repetition then gets their id.
 *
 * Groups that failed.  A group whose COMMIT failed leaves entries, its senders were answered with
 * an error, and the next group has its commit number.  The page of the folder names such entries
 * (kernel/told.h), as long as a power cut does not take the page.  Without it: the next group draws
 * the same document numbers, so the numbers of accepted documents grow from entry to entry, except
 * behind a group that failed; from the newest entry back, one whose number is not below all those
 * already seen is left out.  Entries of a process that was killed are not in doubt by either.
 * Nobody was answered, and a repetition with the same key is newer: of several entries with one key
 * the newest is taken in.
 *
 * Copies.  Retention copies entries forward before it deletes a segment, and the rows of `moved`
 * that lead to the copies may be lost too.  A copy names its origin: a row is added again if the
 * file that it would lead to is missing otherwise.  A lost document whose entry is gone is taken in
 * by its copy; copies come last, because their numbers are those of their origins.
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
    int64_t taken_in;  /* documents */
    int64_t left_out;  /* entries of groups that failed, or whose key has a newer document */
    int64_t forwarded; /* rows of `moved` that are there again */
    int64_t unread;    /* entries that are damaged, or follow damage */
};

/* One clause, for people. */
enum { RECOVER_TEXT = 180 };
void recover_text(const struct recover_result *r, char to[static RECOVER_TEXT]);

/* In the transaction that registers the node, before its row of `restore`: notes the gap, and
 * raises the numbers of commits and documents above those that the segments have. */
bool recover_note(struct store *s, struct db *db, const struct told_gap *gap, struct err *err);

/* Some lost documents are not taken in yet. */
bool recover_waits(struct store *s, bool *ret, struct err *err);
/* Takes the documents in; the writers run, and nobody else uses the store.  Calls the option `lost`
 * for each. */
bool recover_documents(struct store *s, struct recover_result *ret, struct err *err);
