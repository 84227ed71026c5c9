/* key_file.h - a file with a key of our own: 32 random bytes as 64 hex digits.
 *
 * Nobody but its owner and group may read it; a file that everybody may read is refused, and so is
 * what is no plain file.  Line ends behind the digits are ignored, so that `openssl rand -hex 32`
 * makes one.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum { KEY_FILE_BYTES = 32 };

/* ERR_CONFIG: it cannot be read, or is none. */
bool key_file_read(int dirfd, const char *path, unsigned char ret[static KEY_FILE_BYTES],
                   struct err *err);
/* Writes a new key, durably.  An existing file would be replaced: look first. */
bool key_file_make(int dirfd, const char *name, struct err *err);
