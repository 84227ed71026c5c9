/* record_table.h - the sets of records as people see and fill them: reference tables.
 *
 * A record that is imported takes the place of whatever had its key; one that steps `store` keep is
 * the same kind of row (road/set_record.h), so that a run which has read the old value is overtaken
 * and runs again.
 *
 * Bounded: RECORD_SETS_MOST sets; a change RECORD_PORTION_MOST records.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct store;

enum {
    RECORD_SETS_MOST = 1000,
    RECORD_SET_NAME_MOST = 200,
    RECORD_PORTION_MOST = 1000,
    RECORD_PAGE_MOST = 200
};

struct record_row {
    struct str key;
    int64_t size, version, updated_us;
};

struct record_set {
    int64_t set;
    struct str name;
    int64_t records, updated_us;
};

struct record_put {
    struct str key, value;
};

/* The name id of a set; 0: there is none. */
bool record_set_find(struct store *s, struct str name, int64_t *ret, struct err *err);
/* The same, made if it is new.  ERR_LIMIT: its name is too long, or there are too many. */
bool record_set_id(struct store *s, struct str name, int64_t *ret, struct err *err);

/* One commit; *ret_changed: how many are other than they were. */
bool records_import(struct store *s, int64_t set, const struct record_put *list, size_t count,
                    int64_t *ret_changed, struct err *err);
/* One record, or, without a key (ptr NULL), a portion of them: 0 when none is left. */
bool records_remove(struct store *s, int64_t set, struct str key, int64_t *ret_count,
                    struct err *err);

/* By key, those behind `after`; up to `most`, RECORD_PAGE_MOST at most. */
bool records_page(struct store *s, int64_t set, struct str after, struct arena *a,
                  struct record_row *ret, size_t most, size_t *ret_count, struct err *err);
/* The sets that have records; room for RECORD_SETS_MOST.  Counts row by row. */
bool record_sets(struct store *s, struct arena *a, struct record_set *ret, size_t *ret_count,
                 struct err *err);
