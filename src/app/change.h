/* change.h - changes to documents: to those that are named, or to many by a filter.
 *
 * Named documents are sent to the node in portions; one line is printed for each.  A bulk
 * change counts first and, on a terminal, asks for confirmation.  Then it runs in portions
 * at a limited rate, with a progress bar on a terminal; Ctrl-C leaves the rest unchanged.
 */
#pragma once

#include <jansson.h>

#include "app/args.h"

/* `query` takes $ids and answers with a list of { id result message } as `field`.  Takes ownership
 * of `variables`, the other variables.  Returns the exit status: 1 when not all were changed. */
int change_documents(const struct args *a, const char *query, const char *field, json_t *variables);

/* A bulk change by the filter.  The form takes filters and CHANGE_OPTIONS. */
struct change_bulk {
    const char *field;      /* the mutation: deadRetry, documentsCancel, ... */
    const char *filter;     /* the type of its filter */
    const char *verb;       /* "retry" */
    const char *done;       /* for the final line: "on their way again" */
    const char *one, *many; /* "document", "documents" */
    int64_t portion;        /* documents per request, at most */
    const char *takes;      /* further arguments, ", $from: RetryFrom"; NULL: none */
    const char *gives;      /* ... and their values, ", from: $from" */
    json_t *variables;      /* of these; owned by the call; NULL: none */
};
int change_in_bulk(const struct args *a, const struct change_bulk *what);

enum { CHANGE_BY = 101, CHANGE_RATE = 1000 };

/* The name for the timeline: --by, or else the name of the local user. */
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
