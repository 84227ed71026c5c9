/* segment.h - payloads in append-only files, one sync for a whole group.
 *
 * Payloads up to 1 MiB of the SQLite store.  The writer adds the payloads of a
 * group and flushes once; after that they are on stable storage, and only then
 * do their rows commit.  Files are filled with zeros ahead of use, by a thread
 * of their own, because a sync of a file that grows costs twice.
 *
 * Format      payload/SEGMENT.seg, SEGMENT = yyyymmdd * 100000 + n.  Entries follow each other,
 *             each starts at a multiple of 8, all numbers little-endian:
 *      0  u32 magic "WBP2"      4  u16 header length (104)    6  u16 flags (1: a copy)
 *      8  i64 SEGMENT (a reused file's old entries do not match)
 *     16  u64 stored length    24  u64 plain length
 *     32  document id (16)     48  sha256 of the plain bytes (32)
 *     80  u32 key id (0)       84  u32 record length (0: no record)
 *     88  i64 number of the commit that wrote it (kernel/told.h)
 *     96  u64 check of the 96 bytes before
 *    104  the bytes, and behind them the record
 *   The record is what the writer has to say of the payload (record.h); its last 8 bytes are a
 *   check of the header's check and of the record, so that one number covers header, record and,
 *   through the digest in the header, the bytes.  An entry whose bytes are elsewhere, in a file of
 *   their own, has stored length 0 and a plain length.
 *   A copy, which retention made before it deleted a segment, has its origin at the end of its
 *   record, before the check: i64 SEGMENT, i64 position, the place that rows name.
 *   Entries of earlier programs, "WBP1", have a header of 96 bytes: at 84 a zero, at 88 the check
 *   of the 88 bytes before; no number, no record.
 *   Behind the last valid entry the file has zeros, or a tail that was torn by a crash and
 *   never committed.
 *
 * Invariants
 *   (1) a place that segments_flush() covered is on stable storage.
 *   (2) no two entries overlap, also after a crash: appending continues behind the last
 *       valid entry if only zeros follow it, else in a new segment.
 *   (3) the name of a segment is used once, also when the file is lost.
 *
 * Method, crashes and races: segment.c.
 *
 * Threads: segments_add(), _flush(), _cancel() on the writer thread; segment_read() on any.
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
    int64_t seg, pos; /* payload.h: what seg <= 0 means */
};

enum { SEGMENT_PAYLOAD_MOST = 1 << 20, SEGMENT_RECORD_MOST = 256 << 10 };

/* dirfd: the folder payload/, lent until close.  bytes: the size of a new segment, 0 for
 * the default (64 MiB, less when little space is free).  used: the highest segment that was ever
 * used, as far as the caller knows: a new one gets a higher number. */
bool segments_open(int dirfd, int64_t bytes, int64_t used, struct segments **ret, struct err *err);
void segments_close(struct segments *s);

/* The number of the commit that the entries added from now on belong to. */
void segments_begin(struct segments *s, int64_t commit);

struct segment_payload {
    struct id id;
    struct sha256 sha256;
    struct str bytes; /* copied */
    struct str
        record; /* copied; empty: none.  Up to SEGMENT_RECORD_MOST, a longer one is left out */
    int64_t elsewhere;         /* the length of bytes that are not in the segment; 0: they are */
    struct payload_ref origin; /* of a copy; seg 0: it is none */
};

/* Appends a payload.  ERR_LIMIT: no space. */
bool segments_add(struct segments *s, const struct segment_payload *p, struct payload_ref *ret,
                  struct err *err);
bool segments_flush(struct segments *s, struct err *err);
void segments_cancel(struct segments *s); /* drops entries that are staged and not written */

/* The position behind the last entry; seg 0: there is no segment yet.  On the writer thread,
 * between groups: then every entry that a row names lies before it. */
struct payload_ref segments_end(const struct segments *s);
/* The number in the file name "SEGMENT.seg"; 0 for any other name. */
int64_t segment_of_name(struct str name);

/* The number of the newest commit that has entries, as it was when the store was opened; 0: none.
 */
int64_t segments_last_commit(const struct segments *s);

/* Reads the whole payload at a place and checks its digest.  ERR_PERMANENT: the segment is missing
 * (err->sys is ENOENT), or the entry is damaged. */
bool segment_read(int dirfd, struct payload_ref place, const struct id *id, struct buf *to,
                  struct err *err);
/* The same with what the entry says of the payload.  `record` is empty if there is none, or if it
 * is damaged.  Bytes that are elsewhere are not read: `to` is empty and `elsewhere` their length.
 */
struct segment_about {
    struct sha256 sha256;
    int64_t elsewhere;
    struct payload_ref origin; /* of a copy; seg 0: it is none */
    struct buf *record;        /* given by the caller */
};
bool segment_read_entry(int dirfd, struct payload_ref place, const struct id *id, struct buf *to,
                        struct segment_about *io, struct err *err);

/* ---- for retention and recovery ---- */

struct segment_entry {
    int64_t pos, bytes; /* bytes: with header and padding */
    struct id id;
    int64_t commit; /* 0: unknown */
    bool has_record, is_copy;
    bool after_gap; /* bytes that are no entry precede it: it may be a part of a payload */
};

bool segment_exists(int dirfd, int64_t seg);
/* The highest segment below `below` that has a file; 0: none. */
bool segment_below(int dirfd, int64_t below, int64_t *ret, struct err *err);

/* The segment that the writer appends to; lower ones no longer change.  On the writer thread. */
int64_t segments_newest(const struct segments *s);

/* Calls `found` for each entry, in order of position.  *ret_bytes: the size of the file;
 * *ret_whole false: bytes that are not an entry precede one.  ERR_PERMANENT with ENOENT: there is
 * no such file. */
bool segment_scan(int dirfd, int64_t seg, void (*found)(void *arg, const struct segment_entry *e),
                  void *arg, int64_t *ret_bytes, bool *ret_whole, struct err *err);
/* Deletes the file durably; a missing file is no error.  *ret_bytes: the disk space it took. */
bool segment_unlink(int dirfd, int64_t seg, int64_t *ret_bytes, struct err *err);
