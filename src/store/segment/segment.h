/* segment.h - payloads in append-only files, one sync for a whole group.
 *
 * Payloads up to 1 MiB of the SQLite store.  The writer adds the payloads of a
 * group and flushes once; after that they are on stable storage, and only then
 * do their rows commit.  Files are filled with zeros ahead of use, by a thread
 * of their own, because a sync of a file that grows costs twice.
 *
 * Format      payload/SEGMENT.seg, SEGMENT = yyyymmdd * 100000 + n.  Entries follow each other,
 *             each starts at a multiple of 8, all numbers little-endian:
 *      0  u32 magic "WBP1"      4  u16 header length (96)     6  u16 flags (0)
 *      8  i64 SEGMENT (a reused file's old entries do not match)
 *     16  u64 stored length    24  u64 plain length
 *     32  document id (16)     48  sha256 of the plain bytes (32)
 *     80  u32 key id (0)       84  u32 zero                  88  u64 check of the 88 bytes before
 *     96  the bytes
 *   Behind the last valid entry the file is zeros, or a tail that a crash tore and
 *   that was never part of a commit.
 *
 * Invariants
 *   (1) a place that segment_flush() covered is on stable storage.
 *   (2) no two entries overlap, whatever crashed in between: appending goes on
 *       behind the last valid entry, also when one before it is damaged.
 *
 * Threads: add, flush by the writer; segment_read() from any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/id.h"

struct segments;

struct payload_ref {
    int64_t seg, pos; /* the meaning for other kinds of payload is in payload.h */
};

enum { SEGMENT_PAYLOAD_MOST = 1 << 20 };

/* dirfd: the folder payload/, lent until close.  bytes: the size of a segment, 0 for
 * the default (64 MiB, less on a small disk). */
bool segments_open(int dirfd, int64_t bytes, struct segments **ret, struct err *err);
void segments_close(struct segments *s);

/* Put a payload behind the others; bytes are copied.  ERR_LIMIT: no space. */
bool segments_add(struct segments *s, const struct id *id, const struct sha256 *sha,
                  struct str bytes, struct payload_ref *ret, struct err *err);
bool segments_flush(struct segments *s, struct err *err);
void segments_cancel(struct segments *s); /* forget what was added and not written */

/* Behind the last payload that was added and flushed; seg 0: there is none yet.  By the writer. */
struct payload_ref segments_end(const struct segments *s);
/* "SEGMENT.seg" as its number; 0: it is no such name. */
int64_t segment_of_name(struct str name);

/* The whole payload of a place, its digest checked.  ERR_PERMANENT: it is missing
 * or damaged (err->sys ENOENT when missing). */
bool segment_read(int dirfd, struct payload_ref place, const struct id *id, struct buf *to,
                  struct err *err);

/* ---- for retention ---- */

struct segment_entry {
    int64_t pos, bytes; /* bytes: what it takes in the file */
    struct id id;
};

/* The segment that the writer appends to; every one below is full.  In the writer. */
int64_t segments_newest(const struct segments *s);

/* Calls `found` for each entry, in their order.  *ret_bytes: the size of the file; *ret_whole
 * false: something that is no entry stands between two of them.  ERR_PERMANENT with ENOENT:
 * there is no such file. */
bool segment_scan(int dirfd, int64_t seg, void (*found)(void *arg, const struct segment_entry *e),
                  void *arg, int64_t *ret_bytes, bool *ret_whole, struct err *err);
/* It is gone, durably; also when it was gone already. */
bool segment_unlink(int dirfd, int64_t seg, int64_t *ret_bytes, struct err *err);
