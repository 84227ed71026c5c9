/* backup_payloads.h - the payloads of a backup: copied, then checked row by row.
 *
 * Threads: that of backup_run().
 */
#pragma once

#include "store/backup/backup.h"
#include "store/backup/backup_copy.h"
#include "store/backup/manifest.h"

struct backup_job {
    struct store *store;
    int dirfd;           /* of the backup */
    const char *db_path; /* the copy of the database */
    struct backup_mark mark;
    struct backup_progress *progress;
    struct manifest_out *manifest;
    struct backup_result *result;
    struct buf *damage; /* a line for each payload that is missing or damaged */
};

/* The total size, to check the free space. */
bool backup_payloads_size(struct store *s, int64_t *ret, struct err *err);
/* Copies the segments up to the mark, and the large payloads that the copied database names. */
bool backup_payloads_copy(struct backup_job *j, struct err *err);
/* Reads the payload of every row of the copied database; counts those missing or damaged. */
bool backup_payloads_check(struct backup_job *j, struct err *err);
