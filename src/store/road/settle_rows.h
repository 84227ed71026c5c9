/* settle_rows.h - rows of tasks, deliveries and counts, gathered for one statement each.
 *
 * Threads: the writers, in an open transaction.
 */
#pragma once

#include "store/db/sql.h"
#include "store/road/settle.h"

enum { SETTLE_TALLY = 5, SETTLE_TALLIES = 64 };

/* A document that is over.  by: the run whose findings go with it; NULL: its row has all. */
struct ending {
    int64_t doc, day;
    enum document_state state;
    struct settle_op *by; /* NULL: its last delivery ended */
    struct str timeline;  /* of `by`, with the lines of bytes that were placed */
    bool had_deliveries;
};

/* Rows that are gathered for one statement. */
struct rows {
    enum sql_id id;
    struct db_value *values;
    size_t columns, count;
};

/* What one run() works on; all of it is in the arena of the group. */
struct group {
    struct writer *w;
    struct settle_op **ours, **runs, **delivers; /* runs: of documents that stay */
    size_t our_count, run_count, deliver_count, part_count;
    struct ending *endings;
    size_t ending_count;
    struct rows ready, later, dead, add, move;
    struct db_value tallies[SETTLE_TALLIES * SETTLE_TALLY];
    size_t tally_count;
};

struct rows rows_of(struct writer *w, enum sql_id id, size_t columns, size_t most);
struct db_value *row_of(struct rows *r);
bool write_rows(struct writer *w, const struct rows *r, struct err *err);

/* Counted up in memory, written once a group. */
bool tally(struct group *g, int64_t kind, int64_t word, struct err *err);
bool tally_part(struct group *g, const struct settle_delivery *p, struct err *err);
bool write_tallies(struct group *g, struct err *err);

/* Room for what the next ones gather. */
void make_room(struct group *g);
/* The rows of its deliveries, and the tasks that carry them on. */
bool put_parts(struct group *g, struct settle_op *o, struct err *err);
/* The task of the document itself, where it goes on. */
bool put_task(struct group *g, const struct settle_op *o, struct err *err);
int64_t prio_of(const struct settle_op *o, const struct settle_delivery *p);
