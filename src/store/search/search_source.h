/* search_source.h - sources of numbers, for the files that fill them (search.h).
 *
 * A source is filled window by window, from the highest number downwards.  What it sees may come
 * in any order, and more than once; search.c puts it in order.
 */
#pragma once

#include "store/kernel/store_state.h"
#include "store/search/search.h"

enum {
    SEEN_MOST = 8192, /* numbers of a window */
    SOURCES_MOST = 16 + DOCUMENT_WHERE_MOST,
    NOT_KNOWN = -2,
    SOURCE_BATCHES_MOST = 8192 /* known by number; when there are more, members of any may fit */
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
    int64_t word;  /* FACET; TERM: the hash; ENDED: the state; CHILDREN: of; DEAD: 1 in doubt */
    int64_t least, most;                /* SIZES */
    struct str from, to;                /* NAMES; DEAD, TROUBLE: the text is `from` */
    const struct document_scope *scope; /* SCOPE */
    const int64_t *nums; /* NUMS, falling; TROUBLE, DEAD: batches that are so, rising */
    size_t num_count;
    size_t window; /* how many are asked for next */
    bool begun;
    struct seen *seen;
    size_t count, at;
    int64_t sure; /* everything from here up was seen; 0: all */
};

struct search {
    struct store *store;
    struct db *db;
    struct arena *arena;
    struct slots slots;
    struct source sources[SOURCES_MOST];
    size_t source_count;
    int64_t low, high; /* numbers that may have been received at that time: low <= num < high */
    int64_t until_us;  /* when it has taken long enough; monotonic */
    bool knows_error;
};

/* Adds what a statement finds, which takes `below` and a limit first.  A full window may have left
 * lower ones out. */
bool search_gather(struct search *x, struct source *c, enum sql_id id, int64_t slot,
                   struct db_args args, struct err *err);
/* The limit for each of so many statements of one window. */
int64_t search_share(const struct source *c, size_t parts);

/* One was seen. */
void search_see(struct source *c, int64_t num, int64_t slot, bool fits);
/* A full window may have left lower ones than this out. */
void search_unsure(struct source *c, int64_t from);
/* Puts c->nums in order. */
void search_sort_batches(const struct source *c, int64_t *nums);
