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
};

/* How many bytes there are, to see whether they fit. */
bool backup_payloads_size(struct store *s, int64_t *ret, struct err *err);
/* Segments up to the mark, and the large ones that the copied database knows. */
bool backup_payloads_copy(struct backup_job *j, struct err *err);
/* Every row of the copied database has its bytes in the backup; what has not is counted. */
bool backup_payloads_check(struct backup_job *j, struct err *err);
