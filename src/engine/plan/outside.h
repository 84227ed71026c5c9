/* outside.h - checks what a configuration refers to outside of its text: secrets, environment
 * variables, files.
 *
 * `waybill check` sees only the file and cannot know them; whoever puts a version into force checks
 * here.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "core/config.h"

struct store;

/* Adds a problem, with place and remedy, for every reference in the tree that `node` does not
 * expose or that does not resolve.  What is not exposed is not looked at: whether a file is there
 * would be an answer, too.  False: the store failed.  No message contains a value. */
bool outside_check(struct store *s, const struct yaml_node *root, const struct config_node *node,
                   struct problem_list *problems, struct err *err);
