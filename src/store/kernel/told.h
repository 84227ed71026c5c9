/* told.h - the last commit that callers were notified of, kept where the database is not.
 *
 * A database can go back in time: an older file is put back, its log is lost, cut or damaged, a
 * standby that lacks the newest commits is promoted.  What was acknowledged since is then gone,
 * and what was sent since looks unsent.  So the node keeps the number of its last commit in a
 * mapped page of its folder, the file `told`, and compares the database with it: at start, and on
 * PostgreSQL before the first group after every reconnect.
 *
 * Numbers     Every group raises its writer's number in its own transaction, with the fence
 *             (node.h): on SQLite one number of the store, a row of `tally`; on PostgreSQL the
 *             token in the writer's row of `node_writer`.
 *             Beside it stands how many documents the writer accepted, which `tally` counts too:
 *             the difference tells how many were lost.
 *
 * Invariants
 *   (1) The page never runs ahead of the database: told_note() follows the commit.
 *   (2) The page never lags behind an answer: told_note() precedes done().  A killed process loses
 *       nothing of it, because the kernel keeps the page.  A power cut may take the newest numbers;
 *       on SQLite the segment entries have them as well (segment.h).
 *
 * Reaction    A store that is behind is treated as restored (backup/restore.h): the hook
 *             `went_back` of the writers, and open.c at start, add a row to `restore`, which holds
 *             every delivery until a person decides, on all nodes.
 *
 * To check a connection of your own after a reconnect, before it is used for anything: call
 * told_compare(); if the store is behind, call the writers' hook `went_back`, which compares again
 * under a lock, so that one gap is reported once.
 *
 * Refused     Beside the numbers the page has the places of segment entries whose group failed
 *             (SQLite): their senders were answered with an error, and the entries have the commit
 *             number of a later group.  The newest ranges are kept, over starts; none reaches
 *             beyond the end of the segments.
 *
 * Format      one page: u64 magic, i64 store, node, restores; then for each writer i64 commit,
 *             accepted; then ranges of entries, i64 segment and position of the beginning and of
 *             the end (segment 0: none), and i64 the index of the newest.  Host byte order: it is
 *             read on the machine that wrote it.
 *
 * Threads: a writer notes its own numbers; told_begin() runs before the writers start.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/segment/segment.h"

struct db;
struct store;
struct told;

/* The row of `tally` with the number of the last commit (SQLite): node 0, writer 0, this kind. */
enum { TALLY_COMMITS = 64 };

bool told_open(int data_fd, struct told **ret, struct err *err);
void told_close(struct told *t); /* NULL is allowed */

/* What the page says of its node. */
struct told_node {
    int64_t store, node; /* 0: unknown */
    int64_t restores;    /* rows of `restore` that the node knew of */
};
struct told_node told_node(const struct told *t);

/* This node begins: what the page said of the predecessor is replaced.  commit: the last one of the
 * store (SQLite), so that a node that commits nothing leaves the page as it was; on PostgreSQL the
 * numbers are the node's own, and begin with 0. */
void told_begin(struct told *t, const struct told_node *node, int64_t commit);
/* After a commit, before the first done(); a few stores to memory.  accepted: documents of it. */
void told_note(struct told *t, size_t writer, int64_t commit, int64_t accepted);

/* On the writer thread, before callers get the error: entries from `from` up to `to` are of a group
 * that failed. */
void told_refuse(struct told *t, struct payload_ref from, struct payload_ref to);
bool told_is_refused(const struct told *t, struct payload_ref place);
/* At start, before anything is written: `end` is where the next entry goes.  A power cut may have
 * taken refused entries that were not synced; what lies there from now on is not refused. */
bool told_cut_refused(struct told *t, struct payload_ref end, struct err *err);

/* What the database lacks of what was told. */
struct told_gap {
    int64_t commits, documents; /* documents: of `commits`, as far as known */
};

static inline bool told_is_behind(const struct told_gap *g)
{
    return g->commits > 0 || g->documents > 0;
}

/* Compares the database with what the page says, over all writers of its node.  No gap if the page
 * is of another store, or the database no longer knows the node. */
bool told_compare(struct store *s, struct db *db, struct told_gap *ret, struct err *err);

/* After the gap was reported: lowers the page to what the database has. */
bool told_lower(struct store *s, struct db *db, struct err *err);

/* One thread at a time reports a gap. */
void told_lock(struct told *t);
void told_unlock(struct told *t);

/* Calls `notice` when a running node finds its store behind, after the row of `restore` is
 * committed and before anything else is written; NULL: no longer. */
void told_watch(struct store *s, void (*notice)(void *arg), void *arg);
void told_notice(struct told *t); /* with told_lock() */
