/* service_answer.h - what a service says about a run that it has done, as a JSON object.
 *
 *     { "state": .., "more": true, "moved": true, "message": ".." }    it is done
 *     { "error": "..", "retry": false }                                it has failed
 *
 * A state that is no text is kept as JSON.  Without `moved` the iteration has moved on, unless it
 * says `more`.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct job_result;

/* NULL: it is no JSON, *err says why where that is known.  json_decref() it. */
json_t *service_answer_parse(struct str text, struct err *err);
bool service_answer_has_failed(const json_t *answer); /* it has an error */
/* Any JSON; `ret` is done or failed already: what failed is not made good by what it says. */
void service_answer_take(const json_t *answer, struct job_result *ret);

void service_answer_drop(json_t **v); /* for AUTO() */
