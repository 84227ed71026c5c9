/* mover.h - the state of a running move (move.h), shared by its files. */
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
    size_t tables; /* of the old store, seen so far */
    struct move *m;
    int data_fd, payload_fd, large_fd, lock_fd;
    struct db *from; /* SQLite, in a transaction */
    struct db *to;   /* PostgreSQL: creates the schema ... */
    PGconn *conn;    /* ... and copies everything, in one transaction */
    int64_t *segs;   /* segments that places may name, existing or removed, ascending */
    size_t seg_count;
    struct move_large *large; /* large payloads read so far */
    size_t large_count;
    struct buf stream; /* not yet sent to the server */
    int64_t streamed;  /* rows since move_copy_begin() */
};
