/* manifest.h - the list of what is in a backup, written last.
 *
 * A folder with a whole manifest is a backup; one without is the rest of an attempt.  The
 * manifest names every file with its length and digest, and ends with the digest of itself.
 *
 * Format      file `manifest`, lines of text, words with one blank between them:
 *                 waybill backup 1
 *                 KEY VALUE                    program, schema, store, taken, num, ... (below)
 *                 file SHA256 BYTES NAME       NAME is a path below the folder, to the end of line
 *                 end SHA256                   of everything before this line
 *             A reader passes over keys that it does not know.
 *
 * Threads: a manifest belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

#define MANIFEST_NAME "manifest"

enum { MANIFEST_LINE = 2048, MANIFEST_TEXT = 128, MANIFEST_PATH = 1025 };

/* What a backup says of itself. */
struct manifest {
    char program[MANIFEST_TEXT]; /* the version that took it */
    int64_t schema;
    char store[MANIFEST_TEXT]; /* sqlite, postgresql */
    int64_t taken_us;          /* its mark: everything that was acknowledged before is in it */
    int64_t num;               /* no document in it has a higher number */
    int64_t store_id;
    char key[MANIFEST_TEXT];   /* tells the key of the secrets; empty: there are none */
    char point[MANIFEST_TEXT]; /* PostgreSQL: where its log stood */
    int64_t files, bytes;      /* counted while it is read */
};

struct manifest_file {
    char name[MANIFEST_PATH];
    int64_t size;
    struct sha256 sha256;
};

/* ---- writing ---- */

struct manifest_out {
    int dirfd, fd; /* dirfd is lent */
    struct digest digest;
    int64_t files, bytes;
};

bool manifest_begin(struct manifest_out *m, int dirfd, struct err *err);
bool manifest_head(struct manifest_out *m, const struct manifest *head, struct err *err);
bool manifest_add(struct manifest_out *m, const struct manifest_file *file, struct err *err);
/* From here on the folder is a backup.  Everything it names is synced. */
bool manifest_publish(struct manifest_out *m, struct err *err);
void manifest_done(struct manifest_out *m); /* drops what was not published; safe twice */

/* ---- reading ---- */

/* ERR_PERMANENT: it is missing, damaged, or of a newer program. */
bool manifest_read(int dirfd, struct manifest *ret, struct err *err);

typedef bool manifest_visit(void *arg, const struct manifest_file *file, struct err *err);
/* Of one that manifest_read() has read: every file, in the order in which they were added. */
bool manifest_each(int dirfd, manifest_visit *visit, void *arg, struct err *err);
