/* edit.h - a document that a person made: an edit of another, or one that goes straight to the
 * router.
 *
 * An edit is one transaction: the new document with its payload, its task and its line in the
 * timeline, the link to the original, and the end of the original, or nothing of it.
 *
 * Superseding: what has not been delivered of the original is cancelled and the original is
 * over as `superseded`; nothing sets it going again.  The edit takes its place in the order of
 * acceptance.  Refused for an original that is being worked on or being sent, that is in doubt,
 * that was delivered, or whose place another edit took: there the one question, instead or
 * besides, needs another answer.  Beside: the original stays as it is.
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
    bool has_original; /* else it is of nobody, and the two below say nothing */
    bool supersede;
    struct id original;
    struct str who;    /* for the timelines */
    struct str what;   /* of the new document's first line, behind what it is an edit of */
    int64_t keep_days; /* how long an ended document is kept */

    /* What it is about: it goes on at the router with this, else it begins with extraction. */
    bool has_facts;
    int64_t sender, receiver, type; /* words; 0: none, or a text in `facts` */
    struct str facts;               /* facts_write() */
};

/* `doc` is the new document as for an accept; its task never comes claimed.  OPERATE_DONE: it is
 * stored, or its key was used before (doc->result).  Any other result: nothing was changed, and
 * the text says why. */
bool edit(struct store *s, struct accept_op *doc, const struct edit_order *order,
          struct operate_answer *ret, struct err *err);
