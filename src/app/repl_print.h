/* repl_print.h - tables of links, plans, rows and passes, as the forms of `waybill repl` show them.
 *
 * Threads: the main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "app/list.h"

/* What the forms ask of the API (schema.graphql: LinkTable, LinkPass, LinkPlan ...). */
#define LINK_PASS_FIELDS                                                                      \
    "id link table job mode repair dryRun result began ended segments segmentsBad rowsSource" \
    " rowsDest bytes missing extra different moving repaired skipped message by"
#define LINK_TABLE_FIELDS                                                                      \
    "link table job stands reason message remedy since current lag backlog loadRows loadTotal" \
    " written removed bytes setAside conflicts jobState error lastPass { " LINK_PASS_FIELDS " }"
#define LINK_PLAN_FIELDS                                                \
    "link fits digest tables { table fits installed problems columns }" \
    " statements { database text purpose }"
#define LINK_ROW_FIELDS "id link table key values kind why first last due tries discarded peer"

extern const struct list_column repl_table_columns[], repl_row_columns[];

/* LINK or LINK/TABLE, as people write it. */
struct repl_name {
    char link[256];
    const char *table; /* in the operand; NULL: none was named */
};

/* False: it is too long, or empty, or has no table where one is needed; the error is printed. */
bool repl_name_read(const struct args *a, size_t operand, bool needs_table, struct repl_name *ret);

/* One table of a link, for people. */
void repl_print_table(const json_t *table);
/* A plan with its statements, for people. */
void repl_print_plan(const json_t *plan, bool removal);
/* A pass that has ended, in a few lines. */
void repl_print_pass(const json_t *pass);
/* Rows of a diff, both sides column by column. */
void repl_print_diff(const json_t *diff);
/* What stands in the way, sentence by sentence, and the last runs of the job. */
void repl_print_explained(const json_t *table, const json_t *runs);
