/* edit.h - documents that an operator creates: an edit of another document, or a new one.
 *
 * An edit is one transaction: the new document with its payload, task and timeline line, the link
 * to the original, and the end of the original; or nothing at all.
 *
 * Superseding cancels what is not delivered of the original and ends it as `superseded`, which
 * cannot be retried.  The edit takes its place in the order of acceptance.  Superseding is refused
 * if the original is being worked on or sent, is in doubt, was delivered, or was superseded before:
 * then the caller must choose `beside`, which leaves the original as it is.
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "store/manual/operate.h"
#include "store/road/accept.h"

struct edit_order {
    bool has_original; /* else a new document: `supersede` and `original` are unused */
    bool supersede;
    struct id original;
    struct str who;    /* for the timelines */
    struct str what;   /* appended to the first timeline line of the new document */
    int64_t keep_days; /* how long an ended document is kept */

    /* Given facts: the document starts at the router with them; without, at extraction. */
    bool has_facts;
    int64_t sender, receiver, type; /* name ids; 0: none, or a name in `facts` */
    struct str facts;               /* facts_write() */
};

/* `doc` is the new document as for an accept; its task is never claimed at birth.  OPERATE_DONE:
 * the document is stored, or its idempotency key was used before (doc->result).  Any other result:
 * nothing was changed, and the text says why. */
bool edit(struct store *s, struct accept_op *doc, const struct edit_order *order,
          struct operate_answer *ret, struct err *err);
