/* change.h - a change by one statement; the caller waits for its commit.
 *
 * Data that nodes cache in memory has a mark in the store, a number that grows with every change.
 * Nodes poll the mark and reload the data when it differs (store_mark() in reader.h).
 *
 * Threads: any that may block; mark_take() in a run() of the writer.
 */
#pragma once

#include "store/db/db.h"

struct store;
struct writer;

struct store_change {
    enum sql_id sql;
    struct db_args args;
    const char *mark; /* raised in the same transaction; NULL: none */
    bool silent;      /* no audit line; otherwise one is added if a row changed */
};

/* ret_changed may be NULL. */
bool store_change(struct store *s, const struct store_change *c, int64_t *ret_changed,
                  struct err *err);
/* For a statement that changes at most one row; *ret_was: it changed one. */
bool store_change_one(struct store *s, const struct store_change *c, bool *ret_was,
                      struct err *err);

/* Raises a mark; *ret is its new value; ret may be NULL. */
bool mark_take(struct writer *w, const char *name, int64_t *ret, struct err *err);
