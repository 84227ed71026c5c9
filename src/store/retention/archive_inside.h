/* archive_inside.h - what the files of the archive share.
 *
 *   archive.c  making and checking          archive_read.c  finding and reading back
 */
#pragma once

#include "store/retention/archive.h"

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

/* Going through the index of an archive in the order of numbers.  Nothing stays open: a day may
 * have many. */
enum { ARCHIVE_WALK_PAGE = 128 };

struct archive_walk {
    struct str folder;
    char name[ARCHIVE_NAME];
    int64_t at, filled; /* entries before the page, and in it */
    int64_t next_in;    /* within the page */
    bool ended;
    struct archive_walk *next;
    char page[ARCHIVE_WALK_PAGE * ARCHIVE_ENTRY];
};

/* In the arena, before `next`. */
struct archive_walk *archive_walk(struct arena *a, struct str folder, struct str name,
                                  struct archive_walk *next);
/* Is this one in it?  Numbers of those that are asked for go up. */
bool archive_walk_has(struct archive_walk *w, const struct id *id, bool *ret, struct err *err);
