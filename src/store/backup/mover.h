/* mover.h - a move that is under way (move.h), for the files that take part in it. */
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
