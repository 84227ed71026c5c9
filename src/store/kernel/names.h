/* names.h - name ids: configured names as small integers that never change.
 *
 * All names are kept in memory, in hash tables by (kind, name) and by id.
 *
 * Threads: any; the functions that add or load names block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct store;

enum { STORE_NAMES_MOST = 1 << 19 /* an id fits into 20 bits of a facet key (sql/search.sql) */ };

enum name_kind {
    NAME_GATEWAY = 1,
    NAME_SYSTEM = 2,
    NAME_TYPE = 3,
    NAME_ENDPOINT = 4,
    NAME_ROUTE = 5,
    NAME_QUEUE = 6, /* "SYSTEM/ENDPOINT", both as name ids (settle.h) */
    NAME_BATCH = 7,
    NAME_SET = 8, /* of records (road/set_record.h) */
    NAME_AREA = 9 /* where jobs run (job/job.h) */
};

/* The id of a name; a new name is added to the store. */
bool name_add(struct store *s, enum name_kind kind, struct str name, int64_t *ret_id,
              struct err *err);
/* The same for many names, in one commit. */
bool names_add(struct store *s, enum name_kind kind, const struct str *names, size_t count,
               int64_t *ret_ids, struct err *err);
bool name_find(struct store *s, enum name_kind kind, struct str name, int64_t *ret_id);
/* How many names of a kind this node knows. */
size_t names_of_kind(struct store *s, enum name_kind kind);
/* Lent as long as the store is open; empty for an unknown id. */
struct str name_text(struct store *s, int64_t id);
/* False: the id is of another kind, or this node does not know it. */
bool name_of_kind(struct store *s, enum name_kind kind, int64_t id, struct str *ret);

/* ---- inside the store ---- */

struct stored_name {
    int64_t id;
    enum name_kind kind;
    struct str name;
};

struct name_table {
    struct stored_name *words;
    size_t count, slots;
    uint32_t *by_name, *by_id; /* `slots` entries each: index in `words` plus one, 0 for empty */
    struct arena arena;
};

bool names_load(struct store *s, struct err *err);
void names_done(struct store *s);
