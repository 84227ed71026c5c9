/* file_append.h - add a document to a file, once, whatever happens in between.
 *
 * The bytes are staged first, in a file beside the target.  Then the place where they will
 * stand is noted in a journal beside it and synced, then they are added and synced.  After a
 * crash the next append, or file_append_recover(), finishes what the journal says was begun.  A
 * delivery that comes again is found in the journal and not added twice.
 *
 * What is not ours is never cut: when somebody else wrote into the place, or the file is another
 * one now, the delivery that was begun is in doubt.  That is said once; if it is sent again after
 * that, it is added again.
 *
 * Invariants
 *   (1) a record is synced before the first of its bytes is added.
 *   (2) a record is added only when what became of the one before it is settled.
 *   (3) of its target the journal knows at least the last JOURNAL_KEEP deliveries.
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

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

enum { JOURNAL_KEEP = 8192, JOURNAL_MOST = 16384, STAGED_NAME = 48 };

/* ".HEX.part", after the delivery's id. */
void file_append_staged_name(struct str delivery, char ret[static STAGED_NAME]);

struct file_append {
    int dirfd;
    const char *name;     /* of the target, in dirfd; checked */
    struct str delivery;  /* its bytes are staged, synced */
    struct sha256 sha256; /* of them */
    int64_t size;
    mode_t mode; /* of a target that is new */
    const _Atomic bool *stop;
};

/* True: the target has its bytes, and the staged file is gone.  ERR_UNCERTAIN: in doubt. */
bool file_append_run(const struct file_append *a, struct err *err);

/* What became of a delivery that was added or not; nothing need be staged.  What a crash left is
 * finished first.  APPEND_UNKNOWN is as in doubt: it is said, and a send after that adds it. */
enum append_known { APPEND_NOT_THERE, APPEND_THERE, APPEND_UNKNOWN };
bool file_append_ask(const struct file_append *a, enum append_known *ret, struct err *err);

/* `journal` in dirfd is one of ours: its name. */
bool file_append_is_journal(struct str name);
/* Finish what a crash left in the target of this journal. */
bool file_append_recover(int dirfd, const char *journal, struct err *err);
