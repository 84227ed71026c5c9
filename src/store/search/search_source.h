/* search_source.h - sources of numbers, for the files that fill them (search.h).
 *
 * A source is filled window by window, from the highest number downwards.  Numbers of a window may
 * be added in any order, and more than once; search.c sorts them.
 */
#pragma once

#include "store/kernel/store_state.h"
#include "store/search/search.h"

enum {
    SEEN_MOST = 8192, /* numbers of a window */
    SOURCES_MOST = 16 + DOCUMENT_WHERE_MOST,
    NOT_KNOWN = -2,
    SOURCE_BATCHES_MOST = 8192 /* batches; from here on the members of every batch are proposed */
};

enum source_kind {
    FROM_TABLES,
    FROM_FACET,
    FROM_SCOPE,
    FROM_SIZES,
    FROM_TERM,
    FROM_NAMES,
    FROM_LIVE,
    FROM_TROUBLE,
    FROM_DEAD,
    FROM_RETRYING,
    FROM_ENDED,
    FROM_CHILDREN,
    FROM_NUMS
};

struct seen {
    int64_t num;
    int64_t slot; /* the table it was seen in, or NOT_KNOWN */
    bool fits;
};

struct source {
    enum source_kind kind;
    int64_t facet; /* FACET: its kind */
    int64_t word; /* FACET: name id; TERM: hash; ENDED: state; CHILDREN: parent; DEAD: 1 in doubt */
    int64_t least, most;                /* SIZES */
    struct str from, to;                /* NAMES; DEAD, TROUBLE: `from` is the error */
    const struct document_scope *scope; /* SCOPE */
    const int64_t *nums; /* NUMS, falling; TROUBLE, DEAD, RETRYING: batches that match, rising */
    size_t num_count;
    size_t window; /* size of the next window */
    bool begun;
    struct seen *seen;
    size_t count, at;
    int64_t sure; /* the window is complete from this number up; 0: to the end */
};

struct search {
    struct store *store;
    struct db *db;
    struct arena *arena;
    struct slots slots;
    struct source sources[SOURCES_MOST];
    size_t source_count;
    int64_t low, high; /* the time of the filter as numbers: low <= num < high */
    int64_t until_us;  /* when the time of a request is used up; monotonic */
    bool knows_error;
};

/* Adds what a statement returns, whose first arguments are `below` and a limit.  When it reaches
 * the limit, `sure` rises: it may have left out lower numbers. */
bool search_gather(struct search *x, struct source *c, enum sql_id id, int64_t slot,
                   struct db_args args, struct err *err);
/* The limit for each statement of a window that takes `parts` of them. */
int64_t search_share(const struct source *c, size_t parts);

/* Adds a number to the window. */
void search_see(struct source *c, int64_t num, int64_t slot, bool fits);
/* Numbers below `from` may be missing in this window. */
void search_unsure(struct source *c, int64_t from);
/* Sorts the batches of c->nums, for which `nums` is the writable pointer. */
void search_sort_batches(const struct source *c, int64_t *nums);
