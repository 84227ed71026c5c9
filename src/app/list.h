/* list.h - the `ls` of the verbs, as data: what is asked, and the columns of its table.
 *
 * With --json each row is a line of JSON, with all that was asked; else a row of the table.
 *
 * Threads: the main thread.
 */
#pragma once

#include <jansson.h>

#include "app/args.h"
#include "app/client.h"
#include "app/print.h"
#include "base/buf.h"

enum list_kind {
    LIST_TEXT, /* or a list of texts: one cell */
    LIST_TIME,
    LIST_NUMBER,
    LIST_SIZE,
};

struct list_column {
    const char *head, *member; /* NULL ends them */
    enum list_kind kind;
    const char *otherwise; /* for null; NULL: "-" */
    bool is_state;         /* in its colour */
    /* Instead of a member: the text of the cell, of the row or made in `room`. */
    const char *(*cell)(const json_t *row, struct buf *room);
};

struct list {
    const char *query, *field; /* the one field of the answer */
    const struct list_column *columns;

    /* Of a list that comes in pages, an object with `items` and `next`: */
    const char *items; /* the member that is the list; NULL: items */
    int page;          /* the variable `first`; 0: the query has none */
    int limit;         /* without --limit; 0: all there is */
    const char *which; /* "newest": those that are shown of more */
};

/* Ask and print.  `variables` is taken over; NULL: as ask_node() has it. */
int list_whole(const struct args *a, const struct list *l, json_t *variables);
/* Page by page, with `first` and `after` beside these variables. */
int list_pages(const struct args *a, struct client *c, const struct list *l, json_t *variables);
/* What was answered already. */
int list_answer(const struct args *a, struct client *c, const struct list *l, const json_t *rows);

/* ---- by hand ---- */

struct list_out {
    const struct args *args;
    const struct list *list;
    const char *heads[PRINT_COLUMNS + 1];
    struct print_table table;
};

void list_begin(struct list_out *o, const struct args *a, const struct list *l);
void list_done(struct list_out *o);
/* At most so many; the result is how many they were. */
int64_t list_rows(struct list_out *o, const json_t *rows, int64_t most);

/* To the next page: *io_after is freed and replaced by its cursor, NULL behind the last one.
 * False: the answer is odd, and that has been told. */
bool list_next(struct client *c, const json_t *page, const char *items, json_t **io_after);
