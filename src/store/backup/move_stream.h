/* move_stream.h - sends rows to the server with COPY, in text format, for one table at a time
 * (move.h). */
#pragma once

#include "store/backup/mover.h"

bool move_sql(struct mover *k, const char *text, struct err *err);
bool move_number(struct mover *k, const char *text, int64_t *ret, struct err *err);

/* `into`: "table(column, ...)". */
bool move_copy_begin(struct mover *k, const char *into, struct err *err);
/* The cells of a row, then its end. */
void move_cell(struct mover *k, bool first);
void move_put_int(struct mover *k, int64_t v);
void move_put_text(struct mover *k, struct str text);
void move_put_bytes(struct mover *k, struct str bytes);
void move_put_null(struct mover *k);
bool move_row_end(struct mover *k, struct err *err);
/* Ends the COPY; the server has every row. */
bool move_copy_end(struct mover *k, struct err *err);
