/* settle_order.h - the part of commit 2 that is about lanes (order.h). */
#pragma once

#include "store/road/settle.h"

/* Documents that were routed are not open any more, and lanes let their next one go.  Last in the
 * transaction. */
bool settle_order(struct writer *w, struct settle_op **ops, size_t count, struct order_batch *ret,
                  struct err *err);
/* After the commit: those that are kept hear that they may go. */
void settle_order_went(struct store_op **ops, size_t count, const struct order_batch *going);
