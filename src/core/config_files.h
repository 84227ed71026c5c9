/* config_files.h - the files that belong to a version: scripts, style sheets, schemas.
 *
 * An option of type OPT_FILE names a file beside the configuration.  It is read when a version is
 * made and stored with it; what runs has its content from there, so that a file which is edited
 * afterwards changes nothing until the next version.  `path` is the name as the configuration
 * spells it.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/problem.h"

enum {
    CONFIG_FILE_BYTES = 1 << 20,  /* of one file */
    CONFIG_FILES_BYTES = 8 << 20, /* of all files of a version: they fit into one request */
    CONFIG_FILES_MOST = 1000
};

struct config_file {
    struct str path, bytes;
};

struct config_files {
    const struct config_file *items; /* no path twice */
    size_t count;
};

/* A file that a configuration names, each once. */
struct config_file_use {
    struct str path;
    struct place place; /* of its first use */
};

struct config;

/* NULL: none of this name. */
const struct config_file *config_files_find(const struct config_files *files, struct str path);

/* Adds a problem for each file that the configuration names and does not have, and for what is over
 * the limits. */
void config_ask_files(const struct config *config, struct problem_list *problems);

/* Reads the files that a configuration names from below the folder of its own file; never from
 * the data folder of the node.  Reads, so it may block.  Contents are on the arena. */
void config_read_files(const struct config *config, struct arena *a, struct config_files *ret,
                       struct problem_list *problems);
