/* payload.h - the bytes of a document, wherever they are stored.
 *
 * A place is (seg, pos):
 *   seg > 0   an entry of a segment file (segment.h)
 *   seg = 0   a file of its own, large/POS in hex
 *   seg = -1  the row `num` of table payload_POS (PostgreSQL; payload_days.h)
 *   seg = -2  pieces under upload POS (PostgreSQL), in table payload_piece_DAY; the day is in the
 *             number of the upload (below)
 *   seg = -3  an archive (archive_read.h), POS bytes behind the start of the payload as received;
 *             only in memory, never in a row
 *
 * The number of an upload has the day of its table (payload_days.h): -1 - (day * 2^44 + n).  One
 * that is not negative is from before there were days, or was moved from SQLite: its pieces are in
 * payload_piece_0.
 *
 * Reading checks the digest: a payload that is missing or damaged is an error and
 * never returned whole.  A large one is checked as it is read: its last piece is
 * returned only if the digest matches.
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
/* The next piece, at most SEGMENT_PAYLOAD_MOST bytes, lent until the next call; empty at the end.
 */
bool payload_next(struct payload_reader *r, struct str *ret, struct err *err);
void payload_close(struct payload_reader *r);

/* Uploads: large payloads on their way in, on a thread of the spool (engine/intake/spool.h). */
struct upload;

bool upload_open(struct store *s, struct upload **ret, struct err *err);
bool upload_add(struct upload *u, struct str bytes, struct err *err);
/* The payload is on stable storage and has a place; no row names it yet. */
bool upload_finish(struct upload *u, struct payload_ref *ret, struct err *err);
void upload_close(struct upload *u); /* deletes an upload that is not finished */
/* Deletes a finished upload that no document has adopted; blocks.  What remains after a failure is
 * swept later. */
void upload_drop(struct store *s, struct payload_ref place);

/* Deletes the file of a large payload durably; a missing file is no error (SQLite). */
bool payload_unlink(struct store *s, int64_t pos, int64_t *ret_bytes, struct err *err);

/* Deletes some pieces of an upload that `payload_gone` lists, *ret_count of them.  Fewer than
 * PAYLOAD_PIECES_AT_ONCE: those were the last, and the entry is deleted too (PostgreSQL). */
enum { PAYLOAD_PIECES_AT_ONCE = 32 }; /* 8 MiB */
bool payload_drop_pieces(struct store *s, int64_t upload, int64_t *ret_count, struct err *err);

/* Before the gateways open, when no upload is in progress: deletes half-written files; moves
 * complete files that no document has to the folder orphans/ (SQLite). */
bool payload_sweep_files(struct store *s, int64_t *ret_swept, struct err *err);
/* Periodically: deletes uploads that no document adopted within a day (PostgreSQL). */
bool payload_sweep_uploads(struct store *s, int64_t *ret_swept, struct err *err);
