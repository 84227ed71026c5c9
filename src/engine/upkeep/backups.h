/* backups.h - the backup that is under way on this node, or was the last one.
 *
 * One at a time, on a thread of its own; it is asked for and looked at, and ends by itself or
 * with the node.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/backup/backup.h"

struct backups;
struct store;

struct backups_look {
    int64_t number; /* of this process, from 1; 0: there was none yet */
    bool running, ok;
    struct str folder;
    enum backup_stage stage;
    int64_t done, total;
    int64_t started_us, ended_us;
    struct backup_result result; /* when it is over and went well */
    struct str error;            /* when it did not */
};

struct backups *backups_new(struct store *store);
void backups_free(struct backups *b); /* ends one that is under way; NULL is fine */

/* ERR_PERMANENT: one is under way.  What becomes of it, backups_look() tells. */
bool backups_start(struct backups *b, struct str folder, bool with_key, struct err *err);
void backups_look(struct backups *b, struct arena *a, struct backups_look *ret);
