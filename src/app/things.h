/* things.h - verbs over what a node keeps few of: keys, secrets.  A list and an end of one, as
 * data.
 *
 * Threads: the main thread.
 */
#pragma once

#include "app/args.h"

struct thing_column {
    const char *head, *member; /* NULL ends them */
    bool is_time;
    const char *otherwise; /* for null; NULL: "-" */
};

/* `ls`: a query without variables, whose one field is a list; a member that is a list of texts is
 * one cell. */
struct thing_list {
    const char *query, *field;
    const struct thing_column *columns;
};

int things_list(const struct args *a, const struct thing_list *list);

/* `rm`: a mutation with one variable, whose one field says whether there was one. */
struct thing_removal {
    const char *mutation, *field;
    const char *noun, *variable; /* "secret", "name" */
};

int things_remove(const struct args *a, const struct thing_removal *removal);
