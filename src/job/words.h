/* words.h - ${job}, ${run}, ${nominal} and ${state} in texts of a job, filled in for each run.
 *
 * Every other ${...} stays as it is: those of settings are replaced before (core/settings.h).
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/job_type.h"

struct problem_list;
struct yaml_node;

enum { WORDS_MOST = 1 << 20 }; /* bytes of a text that was filled in */

/* Whether ${state} is among the words. */
enum words_of { WORDS_PLAIN, WORDS_STATE };

/* A problem for each word in the value that a job does not have. */
void words_check(const struct yaml_node *value, enum words_of of, struct problem_list *problems);
/* False: it would be larger than WORDS_MOST. */
bool words_fill(const struct job_io *io, struct str text, struct arena *a, struct str *ret);
