/* payload.h - the bytes of a document, wherever they are.
 *
 * A place is (seg, pos):
 *   seg > 0   an entry of a segment file (segment.h)
 *   seg = 0   a file of its own, large/POS in hex
 *   seg = -1  the row `num` of table payload (PostgreSQL)
 *   seg = -2  pieces under upload POS (PostgreSQL)
 *   seg = -3  an archive has it (archive_read.h); never written to a row
 *
 * Reading checks the digest: a payload that is missing or damaged is an error and
 * never given out whole.  A large one is checked as it is read: its last piece
 * comes only when the digest is right.
 *
 * Threads: a reader belongs to one thread at a time; that thread may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/id.h"
#include "store/segment/segment.h"

struct store;

enum {
    PAYLOAD_IN_FILE = 0,
    PAYLOAD_IN_TABLE = -1,
    PAYLOAD_IN_PIECES = -2,
    PAYLOAD_IN_ARCHIVE = -3,
    PAYLOAD_PIECE = 256 << 10
};

struct payload_source {
    struct id id;
    int64_t num, size;
    struct sha256 sha256;
    struct payload_ref place;
};

struct payload_reader;

bool payload_open(struct store *s, const struct payload_source *source, struct payload_reader **ret,
                  struct err *err);
/* The next piece, at most PAYLOAD_MOST bytes, lent until the next call; empty at the end. */
bool payload_next(struct payload_reader *r, struct str *ret, struct err *err);
void payload_close(struct payload_reader *r);

/* Large payloads on their way in, on a thread of `spool` (spool.h). */
struct upload;

bool upload_open(struct store *s, struct upload **ret, struct err *err);
bool upload_add(struct upload *u, struct str bytes, struct err *err);
/* Everything is on stable storage and has a place; no row names it yet. */
bool upload_finish(struct upload *u, struct payload_ref *ret, struct err *err);
void upload_close(struct upload *u); /* throws away what was not finished */
/* Throw away one that was finished and that no document took; blocks.  What a failure
 * leaves is swept. */
void upload_drop(struct store *s, struct payload_ref place);

/* A file of its own is gone, durably; also when it was gone already (SQLite). */
bool payload_unlink(struct store *s, int64_t pos, int64_t *ret_bytes, struct err *err);

/* Some of the pieces of an upload that is noted as gone, *ret_count of them; fewer than
 * PAYLOAD_PIECES_AT_ONCE: those were the last, and the note is gone too (PostgreSQL). */
enum { PAYLOAD_PIECES_AT_ONCE = 32 }; /* 8 MiB */
bool payload_drop_pieces(struct store *s, int64_t upload, int64_t *ret_count, struct err *err);

/* Before the doors open, when nothing is on its way: half-written bodies go, whole ones
 * that no document has move to the folder orphans/ (SQLite). */
bool payload_sweep_files(struct store *s, int64_t *ret_swept, struct err *err);
/* Now and then: uploads that nobody adopted within a day (PostgreSQL). */
bool payload_sweep_uploads(struct store *s, int64_t *ret_swept, struct err *err);
