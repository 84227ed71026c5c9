/* zip_read.h - the entries of a zip archive, read from front to end.
 *
 * A service gets its input in pieces and cannot seek, so the archive is read by the headers that
 * stand before each entry.  What an archive contains is said by the directory at its end; the
 * directory is read too and must name the same entries with the same places, sizes and checksums.
 * An archive that two programs could read differently is refused: with something before, between or
 * behind its entries, or with entries that its directory does not have.
 *
 * Entries are stored or deflated, of any size (zip64).  Encrypted ones are refused.
 *
 *     struct zip z = { .in = ..., .most = ... };
 *     while (zip_next(&z, &entry, &is) && is)
 *         do ok = zip_bytes(&z, &bytes); while (ok && bytes.len > 0);
 *     zip_done(&z);
 */
#pragma once

#include "core/format/unpack.h"

enum { ZIP_NAME_MOST = 255 };

struct zip_entry {
    int64_t number; /* from 1 */
    bool folder;
    /* The last component of its path: never a path, never empty, `.` or `..`, UTF-8 without control
     * characters.  Empty for a folder. */
    struct str name;
};

struct zip {
    struct packed in; /* io, failure, who: set by the caller */
    int64_t most;     /* bytes of all entries together */

    struct unpack *unpack;
    struct buf header; /* the header that was read last */
    char name[ZIP_NAME_MOST + 1];
    bool open;            /* an entry is being read */
    bool over;            /* all its bytes came out */
    bool stored, trailed; /* not compressed; sizes and checksum stand behind the bytes */
    bool wide;            /* sizes of 64 bits stand there */
    int64_t from, left;   /* offset of the bytes; of a stored entry those that are missing */
    uint32_t sum, want_sum;
    int64_t packed_size, size, out;  /* as the header says; what came out */
    int64_t place;                   /* the offset of its header */
    uint64_t name_hash, all, listed; /* sums over entries, and over the directory */
    int64_t count;
};

/* The next entry; *ret_is false: there is none, and the directory is right. */
bool zip_next(struct zip *z, struct zip_entry *ret, bool *ret_is);
/* The next bytes of the entry, lent until the next call; empty: its end, size and checksum are
 * right. */
bool zip_bytes(struct zip *z, struct str *ret);
void zip_done(struct zip *z);
