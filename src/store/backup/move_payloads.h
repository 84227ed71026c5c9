/* move_payloads.h - copies payloads into the new store, and translates the places that name them
 * (move.h). */
#pragma once

#include "store/backup/mover.h"

sqlite3_stmt *move_prepare(struct mover *k, const char *text, struct err *err);
void move_stmt_done(sqlite3_stmt **stmt);
/* Run a statement on the old store and call `row` for each of its rows, until it fails. */
typedef bool move_row(struct mover *k, sqlite3_stmt *stmt, const void *arg, struct err *err);
bool move_each(struct mover *k, const char *text, move_row *row, const void *arg, struct err *err);
/* *ret_row: there is another one. */
bool move_next(struct mover *k, sqlite3_stmt *stmt, bool *ret_row, struct err *err);
struct str move_column(sqlite3_stmt *stmt, int column);

/* Translates a place to the new store; *io_num is the row of the table payload. */
void move_place(const struct mover *k, int64_t *io_seg, int64_t *io_pos, int64_t *io_num);
/* Rewrites the places in a timeline to those of the new store. */
void move_timeline(const struct mover *k, struct str timeline, struct buf *ret);

bool move_payloads(struct mover *k, struct err *err);
/* Compares the digests that the server computes with those of the old store. */
bool move_check(struct mover *k, struct err *err);
