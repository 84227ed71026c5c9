/* check_scripts.h - compiles the scripts of a configuration, without a node. */
#pragma once

#include "core/config.h"

/* Makes each step that runs in a process of its own, as the node would, and adds a problem for what
 * it refuses: a mistake in a script, with its line and column.  A step with a secret, a variable or
 * a file of the machine is left to the node that has them. */
void check_scripts(const struct config *config, const struct config_files *files,
                   struct problem_list *problems);
