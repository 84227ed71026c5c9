/* word.h - names of the configuration as small integers, for ever.
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

enum word_kind {
    WORD_GATEWAY = 1,
    WORD_SYSTEM = 2,
    WORD_TYPE = 3,
    WORD_ENDPOINT = 4,
    WORD_ROUTE = 5,
    WORD_LANE = 6, /* "SYSTEM/ENDPOINT" by their words (settle.h) */
    WORD_BATCH = 7
};

/* Adds a name that is new. */
bool store_word(struct store *s, enum word_kind kind, struct str name, int64_t *ret_id,
                struct err *err);
/* Many in one commit. */
bool store_words(struct store *s, enum word_kind kind, const struct str *names, size_t count,
                 int64_t *ret_ids, struct err *err);
bool store_word_find(struct store *s, enum word_kind kind, struct str name, int64_t *ret_id);
/* The memory is the store's; empty for an unknown one. */
struct str store_word_name(struct store *s, int64_t id);
/* The name of a word of this kind; false: it is none, or not known here. */
bool store_word_of(struct store *s, enum word_kind kind, int64_t id, struct str *ret);

/* ---- inside the store ------------------------------------------------------------------------ */

struct word {
    int64_t id;
    enum word_kind kind;
    struct str name;
};

struct word_table {
    struct word *words;
    size_t count, slots;
    uint32_t *by_name, *by_id; /* of `slots` each */
    struct arena arena;
};

bool words_load(struct store *s, struct err *err);
void words_done(struct store *s);
