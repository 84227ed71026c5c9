/* term.h - attributes of documents as hashes, so that an index can hold them.
 *
 * A term is the hash of an attribute and its value, or of a sender, receiver or type that no
 * configuration has named.  Different values may share a hash, so a search checks the facts of
 * each document it finds.
 *
 * The key of a term begins with the slot of its document, a range of document numbers.  So the
 * index grows at its end, and old documents leave it at its beginning.  On SQLite terms are added
 * behind the write (index.h); a document that the index has already passed gets its terms in the
 * commit that stores its facts.  On PostgreSQL that is always so.  A document without terms
 * costs nothing.
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

/* Attribute names for senders, receivers and types that are not configured. */
#define TERM_SENDER   STR("\001sender")
#define TERM_RECEIVER STR("\001receiver")
#define TERM_TYPE     STR("\001type")

int64_t term_hash(struct str name, struct str value);

/* The slot of a document number, and the key of a hash in a slot. */
int64_t term_slot(enum db_kind kind, int64_t num);
int64_t term_slot_first(enum db_kind kind, int64_t slot); /* the first number of a slot */
int64_t term_key(int64_t slot, int64_t hash); /* a slot too large: a key behind all others */
int64_t term_key_slot(int64_t key);

/* The hashes of the terms in stored facts (facts_write()); unreadable facts have none. */
size_t term_hashes(struct str facts, struct arena *a, int64_t ret[static TERMS_MOST]);

struct term {
    int64_t key, num;
};

/* Adds terms, in an open transaction; sorts the array. */
bool terms_add(struct writer *w, struct term *terms, size_t count, struct err *err);
/* Adds the terms of settlements whose documents the index behind the write does not reach. */
bool terms_found(struct writer *w, struct settle_op **ops, size_t count, struct err *err);

/* The part of a file name that is indexed: its first TERM_NAME_MOST characters. */
struct str term_name(struct str name);
