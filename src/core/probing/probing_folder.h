/* probing_folder.h - the steps folder and rights of a probe, for a folder of this machine.
 *
 * A folder that is not there is not made: a probe leaves nothing behind.
 *
 * Threads: one that may block.
 */
#pragma once

#include <stdbool.h>

#include "core/probing/probing.h"

struct known_folder;

/* `writes`: files are made, renamed and removed there; else it is only read.  False: a step has
 * failed. */
bool probing_folder(struct known_folder *folder, bool writes, struct probing *p);
/* What is to be done about an error of a known folder. */
const char *probing_folder_remedy(const struct err *err);
