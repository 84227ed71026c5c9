/* db_copy.h - a copy of a SQLite database, made in slices by the connection that writes it.
 *
 * Between two slices the connection continues to write; SQLite itself repeats the changes to pages
 * that are already copied, so the copy has the state of the end of its last slice.  This requires
 * that no other connection writes, which holds here (writer.h).
 *
 * The copy is a file of its own without a write-ahead log; it is not synced.  Its errors do not
 * concern the store: the disk that is full may be that of the backup.
 *
 * Threads: begin, step and detach on the thread of the connection; end on any, after detach.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db/db.h"

struct db_copy;

bool db_copy_begin(struct db *from, const char *path, struct db_copy **ret, struct err *err);
/* Copies some pages.  *ret_done: the copy is complete. */
bool db_copy_step(struct db_copy *c, int pages, bool *ret_done, int64_t *ret_left,
                  int64_t *ret_total, struct err *err);
/* Separates the copy from the connection. */
void db_copy_detach(struct db_copy *c);
/* Makes the copy a database without a log, and frees c; NULL is fine. */
bool db_copy_end(struct db_copy *c, struct err *err);
