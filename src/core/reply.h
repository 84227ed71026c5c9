/* reply.h - which delivery of a document answers its sender (`reply: receiver`), and with what.
 *
 * The timeline has all of it: every attempt with its outcome and the receiver's status, and the
 * place of the answer, which is kept for such a document.  So every node finds the same.
 *
 * Of several deliveries the one that ended first counts; of those that were committed together, the
 * one that stands first in the route.  If that delivery was started again by a person and ended
 * once more, its last end counts.
 */
#pragma once

#include "core/timeline.h"

struct reply_end {
    bool has_ended;            /* else the rest is not set */
    bool is_delivered;         /* else it is a dead letter */
    struct timeline_line line; /* of the attempt that ended it; views of the timeline */
    bool has_answer;           /* `answer` has the place of the receiver's answer */
    struct timeline_line answer;
};

struct reply_end reply_find(struct str timeline);

/* Whether a status of a receiver can be given to the sender as it is: not one that asks to go
 * elsewhere, or to go on. */
bool reply_may_pass(int64_t status);
