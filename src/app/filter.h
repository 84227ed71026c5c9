/* filter.h - options that select documents, converted to filters of the admin API.
 *
 * The options have the names of the filter's fields; each table of options lists those that its
 * form takes.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "app/args.h"

#define FILTER_PARTIES                                                                            \
    { .name = "gateway", .kind = ARG_TEXT, .value = "GATEWAY", .help = "where it came in" },      \
        { .name = "sender", .kind = ARG_TEXT, .value = "SYSTEM", .help = "whom it is from" },     \
        { .name = "receiver", .kind = ARG_TEXT, .value = "SYSTEM", .help = "whom it is for" },    \
        { .name = "type", .kind = ARG_TEXT, .value = "TYPE", .help = "of this type" },            \
        { .name = "name", .kind = ARG_TEXT, .value = "NAME", .help = "its file name" },           \
        { .name = "where", .kind = ARG_LIST, .value = "K=V", .help = "attribute K has value V" }, \
    {                                                                                             \
        .name = "error", .kind = ARG_TEXT, .value = "CODE", .help = "no_route, rejected, ..."     \
    }

/* The filter made of the given options, as a value of the API; NULL: the error is printed.
 * *ret_any: at least one was given. */
json_t *filter_of(const struct args *a, bool *ret_any);

/* How times are written, for the help. */
#define FILTER_ABOUT                                                                  \
    "A time T is relative (15m, 2h, 3d ago) or absolute: 2026-11-15,\n"               \
    "2026-11-15T02:52, 2026-11-15T02:52:10Z, 2026-11-15T03:52:10+01:00; without an\n" \
    "offset it is local time.\n"
