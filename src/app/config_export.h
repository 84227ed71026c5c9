/* config_export.h - writes the files of a version to a folder. */
#pragma once

#include <jansson.h>

struct client;

/* Those of a ConfigVersion, below `folder`, which is made if it is not there; a file that is there
 * already is not replaced.  The exit code; an error is printed. */
int config_export_files(struct client *c, const json_t *version, const char *folder);
