/* manifest.h - the list of files of a backup, written last.
 *
 * A folder with a complete manifest is a backup; without one it is left over from a failed attempt.
 * The manifest names every file with its length and digest, and ends with its own digest.
 *
 * Format      file `manifest`, lines of text, fields separated by one blank:
 *                 waybill backup 1
 *                 KEY VALUE                    program, schema, store, taken, num, ... (below)
 *                 file SHA256 BYTES NAME       NAME is a path below the folder, to the end of line
 *                 end SHA256                   of everything before this line
 *             A reader ignores unknown keys.
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

/* The head of a manifest. */
struct manifest {
    char program[MANIFEST_TEXT]; /* the version that took it */
    int64_t schema;
    char store[MANIFEST_TEXT]; /* sqlite, postgresql */
    int64_t taken_us;          /* the mark: everything acknowledged before is included */
    int64_t num;               /* no document in it has a higher number */
    int64_t store_id;
    char key[MANIFEST_TEXT];   /* id of the key of the secrets; empty: there are none */
    char point[MANIFEST_TEXT]; /* PostgreSQL: position in the log to restore to */
    int64_t files, bytes;      /* counted by manifest_read() */
};

struct manifest_file {
    char name[MANIFEST_PATH];
    int64_t size;
    struct sha256 sha256;
};

/* ---- writing ---- */

struct manifest_out {
    int dirfd, fd; /* dirfd is borrowed */
    struct digest digest;
    int64_t files, bytes;
};

bool manifest_begin(struct manifest_out *m, int dirfd, struct err *err);
bool manifest_head(struct manifest_out *m, const struct manifest *head, struct err *err);
bool manifest_add(struct manifest_out *m, const struct manifest_file *file, struct err *err);
/* Makes the folder a backup.  The files must be synced before. */
bool manifest_publish(struct manifest_out *m, struct err *err);
void manifest_done(struct manifest_out *m); /* removes an unpublished manifest; safe twice */

/* ---- reading ---- */

/* ERR_PERMANENT: the manifest is missing, damaged, or of a newer program. */
bool manifest_read(int dirfd, struct manifest *ret, struct err *err);

typedef bool manifest_visit(void *arg, const struct manifest_file *file, struct err *err);
/* Visits every file in the order of manifest_add(), of a manifest that manifest_read() accepted. */
bool manifest_each(int dirfd, manifest_visit *visit, void *arg, struct err *err);
