/* temp_folder.h - a folder below $TMPDIR that is removed again. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"

/* Makes `$TMPDIR/waybill-WHAT-XXXXXX`, for this user alone.  After a failure `ret` is empty. */
bool temp_folder_make(const char *what, char ret[static PATH_MAX], struct err *err);
/* With all that is in it; what fails is printed.  An empty path is fine. */
void temp_folder_remove(const char *path);
