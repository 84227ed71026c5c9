/* version_file.h - the files that belong to a version: scripts, style sheets, schemas.
 *
 * They are added with their version (version.h).  A content is stored once, by its SHA-256, however
 * many versions have it, and is compared with that when it is read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "core/config_files.h"

struct db;
struct store;

struct version_file {
    struct str path;
    struct sha256 sha256;
    int64_t size;
};

/* By path, without the contents. */
bool version_file_list(struct store *s, int64_t number, struct arena *a, struct version_file **ret,
                       size_t *ret_count, struct err *err);
/* With the contents, on the arena.  One that is gone or damaged is left out: `doctor` finds it. */
bool version_files(struct store *s, int64_t number, struct arena *a, struct config_files *ret,
                   struct err *err);
/* One content; false with err->kind ERR_NONE: it is gone or damaged. */
bool version_file_content(struct store *s, const struct sha256 *sha256, struct arena *a,
                          struct str *ret, struct err *err);
/* Whether the version has exactly these files. */
bool version_has_files(struct store *s, int64_t number, const struct config_files *files, bool *ret,
                       struct err *err);

/* ---- for version.c, in the transaction of the version ---- */

bool version_files_add(struct db *db, int64_t number, const struct config_files *files,
                       struct err *err);
/* Of the list of paths and digests, for the audit log. */
struct sha256 version_files_digest(const struct config_files *files);
