/* db_copy.h - a copy of a SQLite database, made in slices by the connection that writes it.
 *
 * Between two slices the connection goes on writing; what it changes behind the copy is brought
 * into the copy by SQLite itself, so the copy is of the moment at which its last slice ended.
 * Only the connection it is made from may write meanwhile, which holds here (store.h).
 *
 * The copy is a file of its own without a write-ahead log; it is not synced.  Its errors are its
 * own: a disk that is full there is no trouble of the store.
 *
 * Threads: begin and step on the thread of the connection; end on any, after the last step.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db/db.h"

struct db_copy;

bool db_copy_begin(struct db *from, const char *path, struct db_copy **ret, struct err *err);
/* Some pages.  *ret_done: it is whole. */
bool db_copy_step(struct db_copy *c, int pages, bool *ret_done, int64_t *ret_left,
                  int64_t *ret_total, struct err *err);
/* The thread of the connection has nothing more to do with it. */
void db_copy_detach(struct db_copy *c);
/* Make it a plain file, and let go of it; NULL is fine. */
bool db_copy_end(struct db_copy *c, struct err *err);
