/* file_append.h - appends a document to a file once, also across crashes.
 *
 * The bytes are staged first, in a file beside the target.  Then the offset where they will stand
 * is written to a journal beside it and synced; then they are appended and synced.  After a crash
 * the next append, or file_append_recover(), completes what the journal says was begun.  A delivery
 * that is repeated is found in the journal and not appended again.
 *
 * Bytes of others are never cut off; zeros in the range that the journal names are nobody's: a
 * power cut leaves them where the new length was kept and the bytes were not.  If somebody else
 * wrote into that range, or the target was replaced, the delivery is in doubt.  That is reported
 * once; if the delivery is sent again after that, it is appended again.
 *
 * Invariants
 *   (1) a record is synced before the first of its bytes is appended.
 *   (2) a record is added only when the outcome of the one before it is settled.
 *   (3) the journal of a target has at least its last JOURNAL_KEEP deliveries.
 *
 * Format         .NAME.waybill: records of 64 bytes, little endian, oldest first
 *     16 delivery   of the SHA-256 of its id       8 offset    where its bytes begin
 *     16 digest     of that of its bytes           8 length    how many they are
 *      8 inode      of the target                  7 check     of the SHA-256 of the 56 before
 *                                                  1 state     enum append_state, in place
 *
 * Threads: any; appends to one file take turns, over processes by flock() on the journal.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "core/call.h"

enum { JOURNAL_KEEP = 8192, JOURNAL_MOST = 16384, STAGED_NAME = 48 };

/* ".HEX.part", derived from the delivery's id. */
void file_append_staged_name(struct str delivery, char ret[static STAGED_NAME]);

struct file_append {
    int dirfd;
    const char *name;     /* of the target in dirfd; checked */
    struct str delivery;  /* the id; its bytes are staged and synced */
    struct sha256 sha256; /* of the bytes */
    int64_t size;
    mode_t mode; /* of a new target */
    struct call *call;
};

/* True: the target has the bytes, and the staged file is removed.  ERR_UNCERTAIN: in doubt. */
bool file_append_run(const struct file_append *a, struct err *err);

/* Finds the outcome of a delivery; nothing need be staged.  Completes what a crash left first.
 * APPEND_UNKNOWN means in doubt: it is reported, and a send after that appends. */
enum append_known { APPEND_NOT_THERE, APPEND_THERE, APPEND_UNKNOWN };
bool file_append_ask(const struct file_append *a, enum append_known *ret, struct err *err);

/* Whether this is the name of a journal. */
bool file_append_is_journal(struct str name);
/* Completes what a crash left in the target of this journal. */
bool file_append_recover(int dirfd, const char *journal, struct call *c, struct err *err);
