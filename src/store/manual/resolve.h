/* resolve.h - an operator decides about deliveries in doubt.
 *
 * Delivered: the receiver has it; the delivery ends.  Resend: the receiver does not have it; it is
 * sent again under the same id.  A line in the document's timeline says who decided, when, and why.
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include "store/manual/operate.h"

enum resolve_as { RESOLVE_DELIVERED, RESOLVE_RESEND };

struct resolve_order {
    struct str who, reason; /* for the timeline; reason: may be empty */
    enum resolve_as as;
    int64_t endpoint;  /* only deliveries to this endpoint (name id); 0: all in doubt */
    int64_t before_us; /* only what came into doubt before; 0: whenever */
    int64_t keep_days; /* how long an ended document is kept */
};

/* Up to OPERATE_MOST documents in one transaction; ret_answers[i] is of ids[i]. */
bool resolve(struct store *s, const struct id *ids, size_t count, const struct resolve_order *order,
             struct operate_answer *ret_answers, struct err *err);
