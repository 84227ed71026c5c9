/* settle_batch.h - settlements that make their documents members of batches (batch.h). */
#pragma once

#include "store/road/settle.h"

/* Those of a group that join: each stands in exactly one batch afterwards. */
bool settle_batch(struct writer *w, struct settle_op **ops, size_t count, struct err *err);
