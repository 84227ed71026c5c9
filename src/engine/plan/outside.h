/* outside.h - what a configuration names and only a node can have: secrets, environment
 * variables, files.
 *
 * `waybill check` sees a file alone and cannot know them; whoever makes a version live asks
 * here.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "core/config.h"

struct store;

/* Add a problem, with its place and remedy, for everything in the tree that is not there.
 * `file` is where relative paths start.  False: the store cannot be asked.  No message holds a
 * value. */
bool outside_check(struct store *s, const struct yaml_node *root, const char *file,
                   struct problem_list *problems, struct err *err);
