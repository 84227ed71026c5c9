/* change.h - changing documents: those that are named, and dead letters by the filter.
 *
 * What is named goes to the node in portions; one line tells what came of each.  A bulk
 * change is counted first and asked about on a terminal; then it goes portion by portion,
 * with a bar on a terminal, and ending it with Ctrl-C leaves the rest as it was.
 */
#pragma once

#include <jansson.h>

#include "app/args.h"

/* `query` takes $ids and gives a list of { id result message } as `field`; `variables`, the
 * rest of them, is taken over.  The result is the exit status: 1 when not all were done. */
int change_documents(const struct args *a, const char *query, const char *field, json_t *variables);

/* `field` is a mutation of dead letters: deadRetry or deadDiscard; `done` says what has been
 * done to them ("12 retried").  The form takes filters, --all and --yes. */
int change_dead(const struct args *a, const char *field, const char *verb, const char *done);
