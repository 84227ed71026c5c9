/* join.h - a document becomes a member of a batch, which ends its walk.  See batcher.h. */
#pragma once

#include "engine/flight/flight.h"

/* The step `batch`.  False: the document is dead. */
bool join_batch(struct flight *f, const struct plan_step *s, struct variant *bytes);
/* The run that joined one is repeated: what the step changed in the facts is as it was. */
void join_undo(struct flight *f);
/* Prepares f->settle.join for the commit.  Blocks if the bytes are large. */
bool join_fill(struct flight *f, struct err *err);
