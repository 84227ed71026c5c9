/* version.h - configuration versions: the newest stored version is in force.
 *
 * Versions are only added; each has the whole text (without the node section), its
 * author and a note.  A node runs the newest version that it has seen.  The files that belong to a
 * version: version_file.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "core/config_files.h"

struct store;

struct version {
    int64_t number, made_us;
    struct str by, note, body;
    struct sha256 sha256;
};

bool version_newest(struct store *s, int64_t *ret_number, struct err *err); /* 0: none yet */
/* The version in force at a time; 0: there was none yet. */
bool version_at(struct store *s, int64_t at_us, int64_t *ret_number, struct err *err);
/* False with err->kind ERR_NONE: there is no such version. */
bool version_get(struct store *s, int64_t number, struct arena *a, struct version *ret,
                 struct err *err);
/* Newest first, without their bodies. */
bool version_list(struct store *s, size_t limit, struct arena *a, struct version *ret,
                  size_t *ret_count, struct err *err);

struct version_draft {
    struct str body, by, note;
    const struct config_files *files; /* that belong to it; NULL: none */
};

/* Adds a version with its files, in one commit.  `expected` is the newest version that the caller
 * has seen; if there is a newer one, nothing is added: ERR_TRANSIENT. */
bool version_add(struct store *s, int64_t expected, const struct version_draft *draft,
                 int64_t *ret_number, struct err *err);
