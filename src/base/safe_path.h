/* safe_path.h - checks names from outside before they are used as file names.
 *
 * A name from a sender, a document or a server is checked here, whatever it is for: a file in a
 * folder, an upload, a download.  A path that passes is relative and stays below the folder it is
 * used in, as far as its text can tell; symbolic links are up to file_open_beneath() (file.h).
 *
 * The error says what is wrong and never quotes the name, which may hold any byte.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

enum { SAFE_NAME_MOST = 255, SAFE_PATH_MOST = 1024, SAFE_PATH_DEPTH = 16 };

/* One name: 1 to 255 bytes of UTF-8, no `/`, no control characters, not `.` or `..`. */
bool safe_name(struct str name, struct err *err);

/* Up to SAFE_PATH_DEPTH such names with single `/` between them: not absolute, not empty, and
 * at most SAFE_PATH_MOST bytes. */
bool safe_path(struct str path, struct err *err);
