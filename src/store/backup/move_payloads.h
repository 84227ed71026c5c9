/* move_payloads.h - copies payloads into the new store, and translates the places that name them
 * (move.h). */
#pragma once

#include "store/backup/mover.h"

sqlite3_stmt *move_prepare(struct mover *k, const char *text, struct err *err);
/* *ret_row false: there are no more rows. */
bool move_next(struct mover *k, sqlite3_stmt *stmt, bool *ret_row, struct err *err);
struct str move_column(sqlite3_stmt *stmt, int column);

/* Translates a place to the new store; *io_num is the row of the table payload. */
void move_place(const struct mover *k, int64_t *io_seg, int64_t *io_pos, int64_t *io_num);
/* Rewrites the places in a timeline to those of the new store. */
void move_timeline(const struct mover *k, struct str timeline, struct buf *ret);

bool move_payloads(struct mover *k, struct err *err);
/* Compares the digests that the server computes with those of the old store. */
bool move_check(struct mover *k, struct err *err);
