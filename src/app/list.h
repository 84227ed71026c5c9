/* list.h - the form `ls` of the verbs, as data: a query, and the columns of a table.
 *
 * With --json each row is a line of JSON with all fields of the query; otherwise a row of the
 * table.
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
    LIST_TEXT, /* or a list of texts, joined in one cell */
    LIST_TIME,
    LIST_NUMBER,
    LIST_SIZE,
};

struct list_column {
    const char *head, *member; /* NULL ends them */
    enum list_kind kind;
    const char *otherwise; /* shown for null; NULL: "-" */
    bool is_state;         /* coloured by its text */
    /* Instead of `member`: the text of the cell, lent by the row or made in `room`. */
    const char *(*cell)(const json_t *row, struct buf *room);
};

struct list {
    const char *query, *field; /* field: the one that the query selects */
    const struct list_column *columns;

    /* For lists in pages, whose answer is an object with `items` and `next`: */
    const char *items; /* name of the member with the list; NULL: "items" */
    int page;          /* value of the variable `first`; 0: the query has none */
    int limit;         /* default of --limit; 0: no limit */
    const char *which; /* for the note that there are more: "newest" */
};

/* Sends the query and prints the list.  Takes ownership of `variables`; NULL: as in ask_node(). */
int list_whole(const struct args *a, const struct list *l, json_t *variables);
/* The same page by page; adds `first` and `after` to the variables. */
int list_pages(const struct args *a, struct client *c, const struct list *l, json_t *variables);
/* Prints rows that were fetched already. */
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
/* Prints at most `most` rows; returns how many. */
int64_t list_rows(struct list_out *o, const json_t *rows, int64_t most);

/* Replaces *io_after by the cursor of the next page, NULL after the last one.  False: the answer
 * does not match the schema, and the error is printed. */
bool list_next(struct client *c, const json_t *page, const char *items, json_t **io_after);
