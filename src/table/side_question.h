/* side_question.h - everything that can be asked of a side, as data: a question and its answer.
 *
 * side.h has a function for each.  A side that is here answers it from its database; one that is
 * away is asked by a message, and at its location side_answer() answers what came.
 *
 * Ownership: everything is in the arena of whoever made it, but the batches of answers, which are
 * the caller's.
 */
#pragma once

#include "table/side.h"

enum side_what {
    SIDE_DESCRIBE,
    SIDE_LOOK,
    SIDE_CEILING,
    SIDE_CHANGES_OF,
    SIDE_BACKLOG,
    SIDE_COUNT,
    SIDE_CHANGES,
    SIDE_ROWS,
    SIDE_MARK,
    SIDE_APPLY,
    SIDE_SUM,
    SIDE_LEAVES,
    SIDE_HASHES,
    SIDE_HASHES_OF,
    SIDE_FETCH,
    SIDE_PLAN,
    SIDE_RUN,
    SIDE_KEEP, /* this and the next are for the location, not for its database */
    SIDE_PAIR,
    SIDE_WHATS
};

struct side_keys { /* SIDE_CHANGES_OF, SIDE_HASHES_OF, SIDE_FETCH */
    const struct str *keys;
    size_t count;
};

struct side_change_list {
    struct side_change *items;
    size_t count;
};

struct side_backlog {
    struct change_place after;
    int64_t most;
};

struct side_mark_answer {
    bool has;
    struct mark mark;
};

struct side_cut { /* SIDE_LEAVES */
    struct side_range range;
    size_t rows;
    const struct side_leaf *ends;
    size_t end_count;
};

struct side_leaf_list {
    struct side_leaf *items;
    size_t count;
};

struct side_hashing { /* SIDE_HASHES */
    struct side_range range;
    size_t most;
};

struct side_hash_list {
    struct side_hash *items;
    size_t count;
};

struct side_running { /* SIDE_RUN */
    enum side_planning what;
    const struct sha256 *seen; /* of the texts of statements */
    size_t count;
};

/* The types of question and answer of each:
 *
 *     SIDE_DESCRIBE   -                     struct shape *
 *     SIDE_LOOK       -                     struct capture_look
 *     SIDE_CEILING    -                     struct ceiling
 *     SIDE_CHANGES_OF struct side_keys      struct side_change_list
 *     SIDE_BACKLOG    struct side_backlog   int64_t
 *     SIDE_COUNT      -                     int64_t
 *     SIDE_CHANGES    struct side_window    struct side_changes
 *     SIDE_ROWS       struct side_piece     struct side_rows
 *     SIDE_MARK       -                     struct side_mark_answer
 *     SIDE_APPLY      struct side_batch     struct side_applied
 *     SIDE_SUM        struct side_range     struct side_sum
 *     SIDE_LEAVES     struct side_cut       struct side_leaf_list
 *     SIDE_HASHES     struct side_hashing   struct side_hash_list
 *     SIDE_HASHES_OF  struct side_keys      struct side_hash_list
 *     SIDE_FETCH      struct side_keys      struct buf
 *     SIDE_PLAN       enum side_planning    struct ddl
 *     SIDE_RUN        struct side_running   -
 *     SIDE_KEEP       struct side_keeping   -
 *     SIDE_PAIR       struct side_pairing   struct side_paired
 */

/* Answers from the database of a side that is here. */
bool side_answer(struct side *s, enum side_what what, const void *question, struct arena *a,
                 void *answer, struct err *err);

/* Ends the transaction of a question; false: rolled back. */
bool side_end(struct side *s, bool ok, struct err *err);
