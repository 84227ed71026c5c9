/* settle_order.h - the part of commit 2 that is about lanes (order.h). */
#pragma once

#include "store/road/settle.h"

/* Closes the numbers of documents that were routed, and gives tasks to the heads of the lanes that
 * changed.  Last in the transaction. */
bool settle_order(struct writer *w, struct settle_op **ops, size_t count, struct order_batch *ret,
                  struct err *err);
/* After the commit: fills in `went` of settlements whose kept delivery may go. */
void settle_order_went(struct store_op **ops, size_t count, const struct order_batch *going);
