/* print.h - output for people: texts, tables, errors.
 *
 * Names and messages may come from untrusted documents: print_text() replaces control
 * characters in them.  Payloads and the text of a configuration are printed unchanged.  Colour is
 * used only when stdout is a terminal and NO_COLOR is unset or empty.
 *
 * Threads: the main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"

enum { PRINT_LINE = 2000, PRINT_COLUMNS = 10, PRINT_CELL = 160 };

/* Prints "waybill: TEXT" on stderr, one line; returns `code`. */
int print_fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints a problem of a configuration, "FILE:line:column: MESSAGE", and the hint indented below.  A
 * severity other than "error" precedes the message.  `hint` may be NULL. */
void print_problem(const char *file, int64_t line, int64_t column, const char *severity,
                   const char *message, const char *hint);

/* Prints the text with control characters replaced by '?'; NULL prints "-". */
void print_text(FILE *to, const char *text);

enum print_colour { PRINT_PLAIN, PRINT_GOOD, PRINT_WARN, PRINT_BAD };

void print_coloured(enum print_colour colour, const char *text);
enum print_colour print_colour_of_state(const char *state);

/* Prints "LABEL     TEXT", one line about an object. */
void print_field(const char *label, const char *text);

/* Prints one object as one line of JSON. */
void print_json(const json_t *object);

enum { PRINT_SHORT = 48 };

/* A time of the API as local time with offset; a text that is not a time stays as it is. */
const char *print_time(const char *utc, char text[static PRINT_SHORT]);
/* "831 B", "1.4 MiB". */
const char *print_size(int64_t bytes, char text[static PRINT_SHORT]);
/* "12.3 ms" */
const char *print_duration(int64_t us, char text[static PRINT_SHORT]);

/* An aligned table, printed page by page: a page is measured, then written; later pages keep the
 * column widths where they suffice.  A cell is cut at PRINT_CELL bytes, except in the last
 * column. */
struct print_table {
    const char *const *heads; /* NULL ends them */
    size_t count;
    size_t width[PRINT_COLUMNS];
    bool begun;
    char **cells; /* `count` per row */
    size_t used, room;
    int colour_column; /* the column whose text is a state; -1: none */
};

void print_table_init(struct print_table *t, const char *const *heads);
void print_table_done(struct print_table *t);
void print_table_cell(struct print_table *t, const char *text); /* copied; NULL is "-" */
void print_table_page(struct print_table *t); /* prints the rows added since the last page */
