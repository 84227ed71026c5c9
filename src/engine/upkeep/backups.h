/* backups.h - the running backup of this node, or the last one.
 *
 * One at a time, on a thread of its own.  It ends by itself or with the node.
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
struct road;
struct store;

struct backups_look {
    int64_t number; /* counted in this process, from 1; 0: none yet */
    bool running, ok;
    struct str folder;
    enum backup_stage stage;
    int64_t done, total;
    int64_t started_us, ended_us;
    struct backup_result result; /* if it succeeded */
    struct str error;            /* if it failed */
};

struct backups *backups_new(struct store *store, struct road *road);
void backups_free(struct backups *b); /* cancels a running one; NULL is fine */

/* ERR_PERMANENT: one is running; ERR_CONFIG: the node must not use the folder.  backups_look()
 * reports its progress and result. */
bool backups_start(struct backups *b, struct str folder, bool with_key, int64_t *ret_number,
                   struct err *err);
/* Ends the backup with this number, if it still runs: it fails. */
void backups_cancel(struct backups *b, int64_t number);
/* Whether backups may be written to the folder, by the configuration in force; it may hang. */
bool backups_may_use(struct backups *b, struct str folder, struct err *err);
void backups_look(struct backups *b, struct arena *a, struct backups_look *ret);
