/* glob.h - file names with `*` and `?`: pure.
 *
 * `*` stands for any text, also none, `?` for one character (UTF-8); everything else for
 * itself.  The time is bounded by the product of both lengths.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

bool glob_match(struct str pattern, struct str name);
