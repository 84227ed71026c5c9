/* folder.h - which folders outside of our storage a node knows, so that an empty mount point is not
 * taken for the share that belongs there (base/known_folder.h).
 *
 * Each node has rows of its own: nodes on two machines see two folders under one path.  A restarted
 * node inherits the rows of its predecessor.  A row belongs to a gateway or an endpoint (`owner`, a
 * name id) and to the key of its configuration that names the folder (`part`); a new path replaces
 * what was known of the old one.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/known_folder.h"
#include "base/str.h"

struct store;

struct folder_row {
    struct str part, path;
    struct folder_id id;
    bool mount; /* a file system was mounted there */
    int64_t seen_us;
    int64_t accepted_us; /* 0: nobody has accepted it */
    struct str accepted_by;
};

enum { FOLDERS_MOST = 8 }; /* of one owner */

/* *ret_there false: nothing is known of it on this node. */
bool folder_find(struct store *s, int64_t owner, struct str part, struct str path, struct arena *a,
                 struct folder_row *ret, bool *ret_there, struct err *err);
/* First contact; keeps an older row of the same path. */
bool folder_learn(struct store *s, int64_t owner, struct str part, struct str path,
                  const struct folder_id *id, bool mount, struct err *err);
/* A person says that what is there now is right.  *ret_was false: there is no such row. */
bool folder_accept(struct store *s, int64_t owner, const struct folder_row *row, struct str by,
                   bool *ret_was, struct err *err);
/* By part; `ret` has room for FOLDERS_MOST. */
bool folder_list(struct store *s, int64_t owner, struct arena *a, struct folder_row *ret,
                 size_t *ret_count, struct err *err);
