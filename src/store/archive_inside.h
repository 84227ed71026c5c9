/* archive_inside.h - what the files of the archive share.
 *
 *   archive.c  making and checking          archive_read.c  finding and reading back
 */
#pragma once

#include "store/archive.h"

enum {
    ARCHIVE_ENTRY = 80,
    ARCHIVE_NAME = 64,
    ARCHIVE_FILE = ARCHIVE_NAME + 16,
    ARCHIVE_LINE_MOST = 4 << 20,
};

/* The name of one of the files of an archive. */
const char *archive_file(const char *name, const char *suffix, char to[static ARCHIVE_FILE]);
bool archive_folder(struct str folder, bool make, int *ret, struct err *err);
int64_t archive_u64(const char *at);
