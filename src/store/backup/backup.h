/* backup.h - a copy of the store, taken while it works.
 *
 * SQLite: the writer copies the database in slices between its groups (backup_copy.h).  The
 * moment at which the copy is complete is the mark of the backup: every document acknowledged
 * before it is included.  Then the payloads up to the mark are copied, the payload of every row is
 * read back from the copy and its digest compared, and the manifest is written last (manifest.h).
 *
 * PostgreSQL: all documents are in the database, which has backup tools of its own.  The backup
 * holds what those tools leave out, and names the point to restore to: the position in the server's
 * log before which everything acknowledged lies.
 *
 *   manifest           what is in the folder
 *   waybill.db         the database (SQLite)
 *   payload/N.seg      payloads; the last segment is cut at the mark
 *   large/HEX          large payloads
 *   config.yaml        the configuration in force, for people
 *   secrets            the sealed secrets, as in the database (PostgreSQL), for people
 *   secret.key         the key of the secrets, only on request
 *
 * During a backup the purge is paused, so that no file it needs is removed (retain_gate.h).  A
 * failed write fails the backup and does not affect the store.
 *
 * Threads: any that may block; one at a time.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

enum backup_stage {
    BACKUP_DATABASE,
    BACKUP_PAYLOADS,
    BACKUP_CHECK,
    BACKUP_MANIFEST,
    BACKUP_STAGES
};

extern const char *const backup_stages[BACKUP_STAGES]; /* database, payloads, check, manifest */

/* The file of a backup that names every payload that was missing or damaged in the store itself. */
#define BACKUP_DAMAGE "damage"
enum { BACKUP_DAMAGE_MOST = 1 << 20 };

struct backup_progress {
    _Atomic int stage;
    _Atomic int64_t done, total; /* bytes; in the stage `check` documents (total 0) */
    _Atomic bool stop;           /* set by another thread to abort */
};

struct backup_options {
    const char *folder;          /* absolute; new, or empty */
    struct folder_rule *folders; /* whether it may be used; NULL: any may */
    bool with_key;
};

struct backup_result {
    int64_t taken_us, num, files, bytes, documents;
    int64_t damaged;  /* payloads missing or damaged in the store itself */
    char damage[300]; /* the first of them */
    bool key_left;    /* the key of the secrets is not in the backup */
    char point[128];  /* PostgreSQL */
};

/* A failed backup removes what it wrote. */
bool backup_run(struct store *s, const struct backup_options *o, struct backup_progress *p,
                struct backup_result *ret, struct err *err);
