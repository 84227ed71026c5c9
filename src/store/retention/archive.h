/* archive.h - documents that go are copied to a folder first (archive_read.h reads them back).
 *
 * One archive holds what a day's table has: a file of documents, a file to find them by, and a
 * manifest that is written last.  Everything is read back and compared with the digests of the
 * store before the archive is noted; only then may the table go (retain.h, `archived_us`).  What
 * an archive has goes by what is in it, not by the clock: a document that came to a day later, and
 * whenever it says that it ended, is in no index yet and gets into the next one.  Each
 * step may run twice: until it is noted an archive is written anew, under another name, which is
 * in the note.  One node writes at a time (PostgreSQL); should two, their names differ, and who
 * notes a part second drops his files.
 *
 * Format      NAME is waybill-DATE-PART-RANDOM, of old ones waybill-DATE-PART
 *             NAME.docs       for each document one line of JSON (what is known of it, and its
 *                             timeline), its payload as it was received, and a newline
 *             NAME.index      80 bytes each, in the order of their numbers: id (16), offset of the
 *                             payload (u64), its length (u64), sha256 of it (32), offset of its
 *                             line (u64), its length (u64); numbers little-endian
 *             NAME.manifest   JSON: names, lengths and digests of both, counts
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "store/payload/payload.h"

struct store;

struct archive_made {
    int64_t documents, bytes; /* 0: nothing was left to be copied */
    int64_t until_us;         /* what ended until then, an archive has: see retain_order */
    bool busy;                /* another node is at it, or was quicker: nothing is sure */
    char name[64];
};

/* What ended less than this ago is left for the next time. */
#define ARCHIVE_SETTLE_US (INT64_C(60) * 1000000)

/* Copy what no archive of this day has, and ended ARCHIVE_SETTLE_US ago, to `folder`, and check
 * that the archives there are whole.  Makes the folder when its parent is there. */
bool archive_day(struct store *s, struct str folder, int64_t day, struct archive_made *ret,
                 struct err *err);

struct archive_look {
    int64_t day, part, documents, bytes, made_us;
    struct str folder, name;
    struct sha256 sha256; /* of the manifest */
};
enum { ARCHIVES_MOST = 200 };
/* The newest first. */
bool archive_list(struct store *s, size_t limit, struct arena *a, struct archive_look *ret,
                  size_t *ret_count, struct err *err);
