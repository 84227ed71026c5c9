/* check_steps.h - makes the steps that run in processes of their own, without a node.
 *
 * A mistake in a script is known only to the service that compiles it, in a process like the one
 * that will run it.  A step whose options this machine cannot put together, because they name a
 * secret or a file that is not here, is left to the node.
 */
#pragma once

#include "core/config.h"
#include "core/config_files.h"

/* Adds a problem for each such step that cannot be made.  Starts processes, so it may block. */
void check_steps(const struct config *config, const struct config_files *files,
                 struct problem_list *problems);
