/* headers.h - the header fields of a request, made from the command line.
 *
 * A name is a token of RFC 9110, a value has no line breaks; errors are printed on stderr.
 */
#pragma once

#include <stdbool.h>

#include "app/args.h"
#include "app/client.h"
#include "base/arena.h"
#include "base/str.h"

struct headers {
    struct arena arena;
    const char *line[CLIENT_HEADERS + 1]; /* NULL ends them */
    size_t count;
};

void headers_done(struct headers *h);

bool headers_add(struct headers *h, const struct args *a, struct str name, struct str value);
