/* make.h - documents that people make: `docs edit`, and `send` straight to the router.
 *
 * The bytes are streamed to the node; metadata goes in header fields (admin/http/manual.h).
 */
#pragma once

#include "app/args.h"
#include "app/client.h"
#include "app/headers.h"

/* The facts by which the router chooses a route, and the name for the timeline. */
#define MAKE_OPTIONS                                                                           \
    { .name = "sender", .kind = ARG_TEXT, .value = "SYSTEM", .help = "whom it is from" },      \
        { .name = "receiver", .kind = ARG_TEXT, .value = "SYSTEM", .help = "whom it is for" }, \
        { .name = "type", .kind = ARG_TEXT, .value = "TYPE", .help = "its type" },             \
        { .name = "attribute", .kind = ARG_LIST, .value = "K=V", .help = "an attribute" },     \
    {                                                                                          \
        .name = "by", .kind = ARG_TEXT, .value = "NAME",                                       \
        .help = "who does it, for the timeline (your user name)"                               \
    }

/* Whether one of these facts is given: then the document goes straight to the router. */
bool make_is_straight(const struct args *a);
/* Makes header fields of these options; false: the error is printed. */
bool make_headers(struct headers *h, const struct args *a);

typedef int make_fn(struct client *c, const struct args *a, const struct headers *h, int fd,
                    const char *title);
/* Calls `fn` with the opened file, or with stdin when `path` is NULL. */
int make_with_body(struct client *c, const struct args *a, const struct headers *h,
                   const char *path, make_fn *fn);
/* Sends the bytes with POST and prints the id of the document; returns the exit status. */
int make_post(struct client *c, const struct args *a, const struct headers *h, const char *path,
              int fd, const char *title);

/* The form `docs edit`. */
extern const struct arg_option make_edit_options[];
int make_edit(const struct args *a);
