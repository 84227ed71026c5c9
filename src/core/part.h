/* part.h - the facts of a document that is made of another one.
 *
 * A part has from its parent what its head does not say.  It is routed on its own, so it does not
 * have what steps of its parent's route changed as `begin` (facts.h).  Attributes whose names no
 * configuration can have, with a space, say how the parent came to be: nothing is made of these.
 */
#pragma once

#include "core/facts.h"
#include "core/service.h"

enum {
    PART_GENERATION_MOST = 16, /* such a document is a loop: its forefathers make each other */
    PART_COPIES_MOST = 1000    /* subscribers of a step: their copies are made in one commit */
};

/* The facts of the part with this number, from 1, of so many (0: not known).  Attributes: `part`
 * and `parts`, those of its head, then those of its parent that it has no own value for.  Its names
 * are not looked up: what the head says is not marked as unknown.  The result borrows from both and
 * lives on the arena. */
struct facts part_facts(struct arena *a, const struct facts *parent,
                        const struct service_part *head, int64_t number, int64_t parts);

/* The facts of a copy for another receiver, the name of a system.  Its attributes are those of the
 * original: a copy of part 3 is part 3, as its file name may say.  The result borrows from both and
 * lives on the arena. */
struct facts part_copy_facts(struct arena *a, const struct facts *original, struct str receiver);

/* The facts of an answer to a document: from `sender`, for the one who sent the document at first.
 * Attributes: `own`, then those of the document. */
struct facts answer_facts(struct arena *a, const struct facts *answered, struct str sender,
                          struct str type, struct fact own);
