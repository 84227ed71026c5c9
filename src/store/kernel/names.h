/* names.h - names of the configuration as small integers, for ever.
 *
 * All are kept in memory, found by a hash of kind and name, and by their id.
 *
 * Threads: any; those that add a name, or load, may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct store;

enum { WORDS_MOST = 1 << 19 /* fewer than 20 bits: see facet */ };

enum name_kind {
    NAME_GATEWAY = 1,
    NAME_SYSTEM = 2,
    NAME_TYPE = 3,
    NAME_ENDPOINT = 4,
    NAME_ROUTE = 5,
    NAME_QUEUE = 6, /* "SYSTEM/ENDPOINT" by their words (settle.h) */
    NAME_BATCH = 7
};

/* Adds a name that is new. */
bool name_add(struct store *s, enum name_kind kind, struct str name, int64_t *ret_id,
              struct err *err);
/* Many in one commit. */
bool names_add(struct store *s, enum name_kind kind, const struct str *names, size_t count,
               int64_t *ret_ids, struct err *err);
bool name_find(struct store *s, enum name_kind kind, struct str name, int64_t *ret_id);
/* The memory is the store's; empty for an unknown one. */
struct str name_text(struct store *s, int64_t id);
/* The name of a word of this kind; false: it is none, or not known here. */
bool name_of_kind(struct store *s, enum name_kind kind, int64_t id, struct str *ret);

/* ---- inside the store ---- */

struct stored_name {
    int64_t id;
    enum name_kind kind;
    struct str name;
};

struct name_table {
    struct stored_name *words;
    size_t count, slots;
    uint32_t *by_name, *by_id; /* of `slots` each */
    struct arena arena;
};

bool names_load(struct store *s, struct err *err);
void names_done(struct store *s);
