/* change.h - changing documents: those that are named, and many by the filter.
 *
 * What is named goes to the node in portions; one line tells what came of each.  A bulk
 * change is counted first and asked about on a terminal; then it goes portion by portion at a
 * rate, with a bar on a terminal, and ending it with Ctrl-C leaves the rest as it was.
 */
#pragma once

#include <jansson.h>

#include "app/args.h"

/* `query` takes $ids and gives a list of { id result message } as `field`; `variables`, the
 * rest of them, is taken over.  The result is the exit status: 1 when not all were done. */
int change_documents(const struct args *a, const char *query, const char *field, json_t *variables);

/* A bulk change by the filter.  The form takes filters and CHANGE_OPTIONS. */
struct change_bulk {
    const char *field;      /* the mutation: deadRetry, documentsCancel, ... */
    const char *filter;     /* the type of its filter */
    const char *verb;       /* "retry" */
    const char *done;       /* what has been done to them: "on their way again" */
    const char *one, *many; /* "document", "documents" */
    int64_t portion;        /* how many at once, at most */
    bool retries;           /* it takes from and again: */
    json_t *variables;      /* taken over; NULL: none */
};
int change_in_bulk(const struct args *a, const struct change_bulk *what);

enum { CHANGE_BY = 101, CHANGE_RATE = 1000 };

/* Who does it: --by, else the name of the user of this machine. */
const char *change_by(const struct args *a, char room[static CHANGE_BY]);

#define CHANGE_BY_OPTION                                         \
    {                                                            \
        .name = "by", .kind = ARG_TEXT, .value = "NAME",         \
        .help = "who does it, for the timeline (your user name)" \
    }
#define CHANGE_OPTIONS                                                                \
    { .name = "all", .kind = ARG_FLAG, .help = "every one there is" },                \
        { .name = "yes", .kind = ARG_FLAG, .help = "do not ask" },                    \
        { .name = "dry", .kind = ARG_FLAG, .help = "only count them" },               \
        { .name = "rate",                                                             \
          .kind = ARG_TEXT,                                                           \
          .value = "N/s",                                                             \
          .help = "so many in a second, minute (/m) or hour (/h) at most (1000/s)" }, \
        { .name = "after",                                                            \
          .kind = ARG_TEXT,                                                           \
          .value = "PLACE",                                                           \
          .help = "go on where an earlier run ended" },                               \
        CHANGE_BY_OPTION
