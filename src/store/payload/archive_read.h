/* archive_read.h - finding and reading documents in archives.
 *
 * retention/archive.h writes archives, and describes their files and formats.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "store/payload/payload.h"

struct store;

/* Finds the archived payload of a document.  *ret_found false: no archive has the document.
 * line, if not NULL: gets the metadata of the document, as JSON. */
struct archive_place {
    int fd; /* the caller closes it */
    int64_t offset, size;
    struct sha256 sha256;
};
bool archive_find(struct store *s, const struct id *id, struct archive_place *ret, struct buf *line,
                  bool *ret_found, struct err *err);
/* The same, as a source for payload_open(): the payload as received (stage 0), or the bytes after
 * the n-th step that changed them. */
bool archive_source(struct store *s, const struct id *id, int64_t stage, struct payload_source *ret,
                    bool *ret_found, struct err *err);

/* ---- the files of an archive ---- */

enum {
    ARCHIVE_ENTRY = 80,
    ARCHIVE_NAME = 64,
    ARCHIVE_FILE = ARCHIVE_NAME + 16,
    ARCHIVE_LINE_MOST = 4 << 20,
    ARCHIVE_HEAD_MOST = 2048, /* of the line before a stage or an answer */
};

/* NAME + SUFFIX: the name of one file of an archive. */
const char *archive_file(const char *name, const char *suffix, char to[static ARCHIVE_FILE]);
bool archive_folder(struct str folder, bool make, int *ret, struct err *err);
int64_t archive_u64(const char *at);

/* Walks the index of an archive in order of document numbers.  No file stays open, because a day
 * may have many archives. */
enum { ARCHIVE_WALK_PAGE = 128 };

struct archive_walk {
    struct str folder;
    char name[ARCHIVE_NAME];
    int64_t at, filled; /* entries before the page, and in it */
    int64_t next_in;    /* the next entry within the page */
    bool ended;
    struct archive_walk *next;
    char page[ARCHIVE_WALK_PAGE * ARCHIVE_ENTRY];
};

/* A new walk in the arena, linked before `next`. */
struct archive_walk *archive_walk(struct arena *a, struct str folder, struct str name,
                                  struct archive_walk *next);
/* *ret: the archive has this document.  Calls must come in ascending order of numbers. */
bool archive_walk_has(struct archive_walk *w, const struct id *id, bool *ret, struct err *err);
