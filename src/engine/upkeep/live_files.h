/* live_files.h - which files belong to a version that is about to be made.
 *
 * A person sends a configuration with its files.  Those that were not sent are taken from a stored
 * version; never from the disk of the node, which is read only for the node's own configuration
 * file.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/config_files.h"

struct config;
struct live_change;
struct live_options;

/* The files that the text of the node's configuration file names, read from beside it.  A text that
 * cannot be loaded has none: whoever loads it says why. */
void live_files_beside(const struct live_options *o, struct str text, struct arena *a,
                       struct config_files *ret, struct problem_list *problems);

/* The files of a change: sent along, or stored with its version `files_of`, or with `in_force`. */
bool live_files_of(const struct live_options *o, const struct live_change *change,
                   const struct config *in_force, struct arena *a, struct config_files *ret,
                   struct err *err);
