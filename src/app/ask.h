/* ask.h - one question of a verb to a node: what most of them begin with.
 *
 * Threads: the main thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "app/args.h"
#include "app/client.h"
#include "base/clock.h"

/* Opens the client and asks.  `variables` is taken over; NULL: a word of the command line is no
 * text, which is told.  False: the exit status is in c->exit_code. */
bool ask_node(struct client *c, const struct args *a, const char *query, json_t *variables,
              json_t **ret_data);

/* As ask_node(), about the first operand, in the variable of that name. */
bool ask_named(struct client *c, const struct args *a, const char *query, const char *variable,
               json_t **ret_data);

/* The values of a repeated option; NULL: one is no text. */
json_t *ask_texts(const struct args *a, const char *option);

/* The value of an option as a time to come, as the API wants it; NULL: it was not given.  False
 * has been told. */
bool ask_time_ahead(const struct args *a, const char *option, char text[static CLOCK_TEXT],
                    const char **ret);

/* `rm`: a mutation with one variable, whose one field says whether there was one. */
struct ask_removal {
    const char *mutation, *field;
    const char *noun, *variable; /* "secret", "name" */
};

int ask_remove(const struct args *a, const struct ask_removal *removal);
