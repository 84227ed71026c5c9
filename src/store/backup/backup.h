/* backup.h - a copy of the store, taken while it works.
 *
 * SQLite: the writer copies the database in slices between its groups (backup_copy.h).  The
 * moment at which the copy is whole is the mark of the backup: every document that was
 * acknowledged before is in it.  Then the payloads up to that mark are copied, every row's bytes
 * are read back from the copy and their digest is checked, and last the manifest is written
 * (manifest.h).
 *
 * PostgreSQL: the database has tools of its own for that, and all documents are in it.  The
 * backup holds what they do not take along, and names the point to restore to: the place in the
 * server's log before which everything lies that was acknowledged.
 *
 *   manifest           what is in the folder
 *   waybill.db         the database (SQLite)
 *   payload/N.seg      payloads; the last one is cut where the mark is
 *   large/HEX          large payloads
 *   config.yaml        the configuration in force, for people
 *   secrets            the sealed secrets, as the database has them (PostgreSQL), for people
 *   secret.key         the key of the secrets, only when it was asked for
 *
 * While one is under way nothing that it needs is removed: retention is paused (retain.h).  What
 * cannot be written there is an error of the backup and no trouble of the store.
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

struct backup_progress {
    _Atomic int stage;
    _Atomic int64_t done, total; /* bytes of the stage, documents of `check` (total 0) */
    _Atomic bool stop;           /* set by whoever wants it to end */
};

struct backup_options {
    const char *folder; /* absolute; new, or empty */
    bool with_key;
};

struct backup_result {
    int64_t taken_us, num, files, bytes, documents;
    int64_t damaged;  /* payloads that are missing or damaged in the store itself */
    char damage[300]; /* the first of them */
    bool key_left;    /* there is a key, and it is not in the backup */
    char point[128];  /* PostgreSQL */
};

/* What a failed one wrote is removed. */
bool backup_run(struct store *s, const struct backup_options *o, struct backup_progress *p,
                struct backup_result *ret, struct err *err);
