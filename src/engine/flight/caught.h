/* caught.h - what a step of a dry flight made, kept in memory for who asked.
 *
 * Without one the parts of a dry flight are counted and forgotten.  Facts of a part are what its
 * parent and its head say, with the names of systems looked up (walk/parts.h).
 *
 * Bounded: parts and bytes have the limits that the caller gave, facts one of their own; what is
 * beyond fails the step with `limit`.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "core/facts.h"
#include "core/service.h"

struct caught_part {
    struct facts facts;
    struct str name, ctype;
    size_t from, size; /* its bytes */
};

struct caught {
    struct arena arena; /* facts and names */
    struct buf bytes;
    struct caught_part *list;
    size_t count, room, most;
    int64_t memory; /* of the process in which the step ran; 0: in no other one, or not known */
};

void caught_init(struct caught *c, size_t parts_most, size_t bytes_most);
void caught_clear(struct caught *c);
void caught_done(struct caught *c);

/* The next part begins: its facts, name and type are on c->arena. */
bool caught_begin(struct caught *c, const struct caught_part *part,
                  struct service_failure *ret_failure);
bool caught_put(struct caught *c, struct str piece, struct service_failure *ret_failure);
struct str caught_bytes(const struct caught *c, size_t part);
