/* move_inside.h - what the files of a move share (move.h).
 *
 * Rows go to the server with COPY, in its text form: a stream is open for one table at a time. */
#pragma once

#include <libpq-fe.h>
#include <sqlite3.h>

#include "base/buf.h"
#include "base/id.h"
#include "store/backup/move.h"
#include "store/db/db.h"
#include "store/payload/payload.h"

enum { MOVE_STREAM_MOST = 16 << 20, MOVE_NAME = 64, MOVE_COLUMNS_MOST = 64 };

struct move_large {
    int64_t pos;
    struct sha256 sha256;
};

struct mover {
    struct move *m;
    int data_fd, payload_fd, large_fd, lock_fd;
    struct db *from; /* SQLite, in a transaction */
    struct db *to;   /* PostgreSQL: the schema is made over it ... */
    PGconn *conn;    /* ... and everything is copied over this, in one transaction */
    int64_t *segs;   /* segments that places name, in the folder or removed, ascending */
    size_t seg_count;
    struct move_large *large; /* what was read of large payloads */
    size_t large_count;
    struct buf stream; /* what the server has not got yet */
    int64_t streamed;  /* rows since copy_begin() */
};

/* ---- the server (move_stream.c) -------------------------------------------------------------- */

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
/* Every row is there. */
bool move_copy_end(struct mover *k, struct err *err);

/* ---- the old store (move_payloads.c) ----------------------------------------------------------
 */

sqlite3_stmt *move_prepare(struct mover *k, const char *text, struct err *err);
/* *ret_row: there is another one. */
bool move_next(struct mover *k, sqlite3_stmt *stmt, bool *ret_row, struct err *err);
struct str move_column(sqlite3_stmt *stmt, int column);

/* Where bytes are in the new store; *io_num is the row of its table. */
void move_place(const struct mover *k, int64_t *io_seg, int64_t *io_pos, int64_t *io_num);
/* A timeline with the places of the new store. */
void move_trail(const struct mover *k, struct str trail, struct buf *ret);

bool move_payloads(struct mover *k, struct err *err);
/* What the server says of them. */
bool move_check(struct mover *k, struct err *err);
