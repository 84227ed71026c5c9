/* change.h - a change of one statement, in a commit that its caller waits for.
 *
 * What nodes keep in memory has a mark, a number that grows with every change: they look at it
 * and read again when it is another one (store_mark() in reader.h).
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
    const char *mark; /* is raised with it; NULL: none */
    bool silent; /* no line of the audit log goes with it; otherwise one does when a row changed */
};

/* ret_changed may be NULL. */
bool store_change(struct store *s, const struct store_change *c, int64_t *ret_changed,
                  struct err *err);
/* A change of at most one row; *ret_was: there was one. */
bool store_change_one(struct store *s, const struct store_change *c, bool *ret_was,
                      struct err *err);

/* Raise a mark; ret, the number that it has now, may be NULL. */
bool mark_take(struct writer *w, const char *name, int64_t *ret, struct err *err);
