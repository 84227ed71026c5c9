/* term.h - attributes of documents as numbers, so that an index can hold them.
 *
 * A term is an attribute with its value, or a name that no configuration has had, as a hash.
 * Documents of one hash may differ: whoever finds one looks at its facts.
 *
 * Terms are indexed where their documents stand: a slot is a stretch of numbers, so that an
 * index grows at its end, and what has gone is gone from its beginning.  On SQLite they are
 * added behind the write (index.h) or, when they are found later than that, with what was
 * found; on PostgreSQL always with what was found.  A document without attributes costs
 * nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/facts.h"
#include "store/db/db.h"
#include "store/kernel/writer.h"

struct settle_op;
struct store;

enum { TERMS_MOST = FACTS_ATTRIBUTES_MOST + 3, TERM_NAME_MOST = 64 };

/* Names under which unknown parties are found. */
#define TERM_SENDER   STR("\001sender")
#define TERM_RECEIVER STR("\001receiver")
#define TERM_TYPE     STR("\001type")

int64_t term_hash(struct str name, struct str value);

/* Where a number stands, and the key of a hash there. */
int64_t term_slot(enum db_kind kind, int64_t num);
int64_t term_slot_first(enum db_kind kind, int64_t slot); /* its first number */
int64_t term_key(int64_t slot, int64_t hash);             /* of no slot: behind all others */
int64_t term_key_slot(int64_t key);

/* The hashes of what facts_write() wrote; what cannot be read has none. */
size_t term_hashes(struct str facts, struct arena *a, int64_t ret[static TERMS_MOST]);

struct term {
    int64_t key, num;
};

/* In an open transaction; sorts them. */
bool terms_add(struct writer *w, struct term *terms, size_t count, struct err *err);
/* What runs found that is not left to the index behind the write. */
bool terms_found(struct writer *w, struct settle_op **ops, size_t count, struct err *err);

/* The beginning of a file name that is indexed: TERM_NAME_MOST characters. */
struct str term_name(struct str name);
