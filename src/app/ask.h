/* ask.h - one query of a verb to a node: most verbs begin with it.
 *
 * Threads: the main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "app/args.h"
#include "app/client.h"
#include "base/clock.h"

/* Opens the client and sends the query.  Takes ownership of `variables`; NULL means that a word of
 * the command line is not UTF-8, and prints that error.  False: the exit status is in
 * c->exit_code. */
bool ask_node(struct client *c, const struct args *a, const char *query, json_t *variables,
              json_t **ret_data);

/* As ask_node(), with the first operand as the variable of that name. */
bool ask_named(struct client *c, const struct args *a, const char *query, const char *variable,
               json_t **ret_data);

/* The values of a repeated option as a list; NULL: one is not UTF-8. */
json_t *ask_texts(const struct args *a, const char *option);

/* The value of an option as a future time in the form of the API; *ret is NULL if it was not given.
 * False: it is invalid, and the error is printed. */
bool ask_time_ahead(const struct args *a, const char *option, char text[static CLOCK_TEXT],
                    const char **ret);

/* The form `rm`: a mutation with one variable, whose answer says whether the object existed. */
struct ask_removal {
    const char *mutation, *field;
    const char *noun, *variable; /* "secret", "name" */
};

int ask_remove(const struct args *a, const struct ask_removal *removal);
