/* archive.h - copies documents to a folder before they are purged (archive_read.h reads them).
 *
 * An archive holds documents of one day's table: a file of documents, an index file, and a manifest
 * that is written last.  Everything is read back and compared with the digests of the store before
 * the archive is recorded; only then may the documents be purged (retain.h, `archived_us`).
 *
 * Whether a document is archived is decided by the index files, not by a clock: a document that
 * joins a day later, whenever it ended, is in no index and goes into the next part.
 *
 * Each step may run twice: an archive that is not recorded is written anew under another name, and
 * the record has the name.  On PostgreSQL a lock lets one node write at a time.  If two write
 * nevertheless, their names differ, and the node that records a part second removes its files.
 *
 * Format      NAME is waybill-DATE-PART-RANDOM, in old stores waybill-DATE-PART
 *             NAME.docs       for each document one line of JSON (its row and its
 *                             timeline), its payload as received, and a newline; then for each
 *                             payload that its timeline names the line `stage N LENGTH SHA256` or
 *                             `answer ENDPOINT LENGTH SHA256`, its bytes, and a newline (archives
 *                             of older programs have none)
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

struct call;
struct store;

struct archive_made {
    int64_t documents, bytes; /* 0: nothing was left to copy */
    int64_t until_us;         /* documents that ended until then are archived (retain_order) */
    bool busy;                /* another node archives, or was quicker: try again later */
    char name[64];
};

/* Documents that ended less than this ago are left for the next archive. */
#define ARCHIVE_SETTLE_US (INT64_C(60) * 1000000)

/* Copies the documents of this day that ended ARCHIVE_SETTLE_US ago and are in no archive to
 * `folder`, and checks that the existing archives are intact.  Creates the folder, not its parent.
 * The folder may hang: `call` gets a sign of life with each piece, and when it is over nothing more
 * is written or recorded; NULL: none. */
bool archive_day(struct store *s, struct str folder, int64_t day, struct call *call,
                 struct archive_made *ret, struct err *err);

struct archive_look {
    int64_t day, part, documents, bytes, made_us;
    struct str folder, name;
    struct sha256 sha256; /* of the manifest */
};
enum { ARCHIVES_MOST = 200 };
/* Newest first. */
bool archive_list(struct store *s, size_t limit, struct arena *a, struct archive_look *ret,
                  size_t *ret_count, struct err *err);
