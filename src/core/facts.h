/* facts.h - what is known about a document beside its bytes.
 *
 * Extraction fills it in, the router reads it, steps and templates use it, endpoints
 * send it along.  Sender and receiver are names of systems once they were looked up;
 * what could not be looked up stays as it was found, and `unknown` says so.  A type may be
 * unknown and all right: `types` has a line "*".
 *
 * A step may change them on the way.  Whoever starts the document again starts with what its way
 * began with (`begin`): else the steps before that one would be left out.
 *
 * As bytes (`facts_write`): what the store keeps beside the words of the configuration,
 * namely the attributes, the texts of unknown names, the beginning, and the number of batches.
 *
 * Format      u8 format; u8 which names are unknown, whether there is a beginning, whether it was
 *             in a batch; their texts; of the beginning u8 which names it has, their texts, varint
 *             number of its attributes; varint number of batches; varint number of attributes; name
 *             and value of each.  Texts have their length in front.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* All attributes together have FACTS_ATTRIBUTES_BYTES; beside them there is room for every name and
 * the beginning, so that no attribute is lost to a name that comes later. */
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
    bool is; /* a step has changed them since */
    struct str sender, receiver, type;
    size_t attribute_count; /* the first ones */
};

struct facts {
    struct str sender, receiver, type; /* ptr NULL: not known */
    bool sender_unknown, receiver_unknown, type_unknown;
    struct fact *attributes;
    size_t attribute_count;
    struct facts_begin begin;
    /* That let it go on, one after the other; of what was gathered the most of its members, and
     * those that they were. */
    unsigned batches;
};

/* Before a step changes them; only the first counts. */
void facts_keep_begin(struct facts *f);
/* As they were then; as they are when nothing changed them. */
void facts_begin_again(struct facts *f);

/* The attribute of this name, or an empty view with ptr NULL. */
struct str facts_attribute(const struct facts *f, struct str name);

/* Everything is within the limits above, so that facts_write() leaves nothing out. */
bool facts_fit(const struct facts *f);

/* Attributes, unknown names and the beginning; nothing is appended when there are none.  Never more
 * than FACTS_BYTES_MOST: attributes for which there is no room are left out, names are cut. */
void facts_write(const struct facts *f, struct buf *to);
/* Adds what was written to *ret, strings lent from `bytes`: unknown names, and attributes and the
 * beginning in the place of those that *ret had.  False: not written by us, and *ret is as it was.
 */
bool facts_read(struct str bytes, struct arena *a, struct facts *ret);
