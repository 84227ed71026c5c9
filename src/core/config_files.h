/* config_files.h - the files that belong to a version: scripts, style sheets, schemas.
 *
 * An option of type OPT_FILE names a file beside the configuration.  It is read when a version is
 * made and stored with it; what runs has its content from there, so that a file which is edited
 * afterwards changes nothing until the next version.  `path` is the name as the configuration
 * spells it.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

enum {
    CONFIG_FILE_BYTES = 1 << 20,   /* of one file */
    CONFIG_FILES_BYTES = 16 << 20, /* of all files of a version */
    CONFIG_FILES_MOST = 1000
};

struct config_file {
    struct str path, bytes;
};

struct config_files {
    const struct config_file *items; /* no path twice */
    size_t count;
};

/* NULL: none of this name. */
const struct config_file *config_files_find(const struct config_files *files, struct str path);
