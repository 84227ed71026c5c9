/* facts.h - what is known about a document beside its bytes.
 *
 * Extraction fills in the facts, the router reads them, steps and templates use them, endpoints
 * send them along.  Sender and receiver are names of systems once they were looked up; a text that
 * is no configured name stays as it was found, and its `_unknown` flag is set.  A type may be
 * unknown without harm: `types` may have a line "*".
 *
 * A step may change the facts.  A document that starts again starts with the facts from before the
 * first such step (`begin`): with the changed ones it could take another route and miss steps.
 *
 * facts_write() encodes what the store does not keep as name ids: the attributes, the texts of
 * unknown names, the original facts, the number of batches, and the generation.
 *
 * Format      u8 format; u8 flags: which names are unknown, has original facts, was in a batch,
 *             is partial, has a generation;
 *             the texts of the unknown names; of the original facts u8 which names they have, their
 *             texts, varint number of their attributes; varint number of batches; varint
 *             generation; varint number of attributes; name and value of each.  A text has its
 *             length in front.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* All attributes together have FACTS_ATTRIBUTES_BYTES; names and original facts have room of their
 * own, so that a name that is set later never pushes out an attribute. */
enum {
    FACTS_ATTRIBUTES_MOST = 64,
    FACTS_VALUE_MOST = 1024,
    FACTS_ATTRIBUTES_BYTES = 16 << 10,
    FACTS_BYTES_MOST = FACTS_ATTRIBUTES_BYTES + (8 << 10)
};

struct fact {
    struct str name, value;
};

struct facts_begin {
    bool is; /* a step has changed the facts since */
    struct str sender, receiver, type;
    size_t attribute_count; /* the first so many of facts.attributes */
};

struct facts {
    struct str sender, receiver, type; /* ptr NULL: not known */
    bool sender_unknown, receiver_unknown, type_unknown;
    bool partial; /* extraction failed: this is what it found, and the next run extracts again */
    struct fact *attributes;
    size_t attribute_count;
    struct facts_begin begin;
    /* How many batches the document passed through, one after the other.  A batch document has the
     * maximum over its members; a member that is a batch document itself counts one more. */
    unsigned batches;
    /* How many forefathers it has: documents that it was made of, one of the other (core/part.h).
     * 0: it came in through a gateway. */
    unsigned generation;
};

/* Call before a step changes the facts; only the first call keeps them. */
void facts_keep_begin(struct facts *f);
/* Restores the facts of the first facts_keep_begin(); without one nothing changes. */
void facts_begin_again(struct facts *f);

/* The attribute of this name, or an empty view with ptr NULL. */
struct str facts_attribute(const struct facts *f, struct str name);

/* A copy whose texts live on the arena; facts_keep_begin() is not copied. */
struct facts facts_copy(struct arena *a, const struct facts *f);

/* True: everything is within the limits above, so that facts_write() leaves nothing out. */
bool facts_fit(const struct facts *f);

/* Appends attributes, unknown names, original facts, the number of batches and the generation;
 * nothing when there are none.  Never more than FACTS_BYTES_MOST: attributes without room are left out, names are
 * cut. */
void facts_write(const struct facts *f, struct buf *to);
/* Of stored facts: `partial`. */
bool facts_are_partial(struct str bytes);
/* Decodes into *ret; the strings are views into `bytes`.  Known names of *ret stay, attributes and
 * original facts are replaced.  False: the bytes are damaged, and *ret is unchanged. */
bool facts_read(struct str bytes, struct arena *a, struct facts *ret);
