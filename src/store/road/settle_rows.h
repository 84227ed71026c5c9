/* settle_rows.h - rows of tasks, deliveries and counts, gathered for one statement each.
 *
 * Threads: the writers, in an open transaction.
 */
#pragma once

#include "store/db/sql.h"
#include "store/road/settle.h"

enum { SETTLE_TALLY = 5, SETTLE_TALLIES = 64 };

/* A document that ends. */
struct ending {
    int64_t doc, day;
    enum document_state state;
    struct settle_op *by; /* the run that ends it, with its facts; NULL: its last delivery ended */
    struct str timeline;  /* lines to add; ptr NULL: those of `by` */
    bool had_deliveries;
};

/* Rows that are gathered for one statement. */
struct rows {
    enum sql_id id;
    struct db_value *values;
    size_t columns, count;
};

/* What one settle_run() works on; all of it is in the arena of the writer's group. */
struct group {
    struct writer *w;
    struct settle_op **ours, **runs, **delivers; /* runs: of documents that stay live */
    size_t our_count, run_count, deliver_count, part_count;
    struct ending *endings;
    size_t ending_count;
    struct rows ready, later, dead, add, move;
    struct db_value tallies[SETTLE_TALLIES * SETTLE_TALLY];
    size_t tally_count;
};

/* Room for `most` rows, in the arena of the group.  row_of() adds a row and lends it to be filled
 * in; write_rows() runs the statement. */
struct rows rows_of(struct writer *w, enum sql_id id, size_t columns, size_t most);
struct db_value *row_of(struct rows *r);
bool write_rows(struct writer *w, const struct rows *r, struct err *err);

/* Count in memory; write_tallies() writes once per group. */
bool tally(struct group *g, int64_t kind, int64_t word, struct err *err);
bool tally_part(struct group *g, const struct settle_delivery *p, struct err *err);
bool write_tallies(struct group *g, struct err *err);

/* Allocates the rows that put_parts() and put_task() fill. */
void make_room(struct group *g);
/* The rows of its deliveries and their next tasks. */
bool put_parts(struct group *g, struct settle_op *o, struct err *err);
/* The claimed task again, if it is due again or dead. */
bool put_task(struct group *g, const struct settle_op *o, struct err *err);
/* The priority of a delivery's task. */
int64_t prio_of(const struct settle_op *o, const struct settle_delivery *p);
