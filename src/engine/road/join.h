/* join.h - a document becomes a member of a batch: the end of its own way.  See batcher.h. */
#pragma once

#include "engine/flight/flight.h"

bool join_batch(struct flight *f, const struct plan_step *s, struct variant *bytes);
/* What the commit needs; may block when its bytes are large. */
bool join_fill(struct flight *f, struct err *err);
