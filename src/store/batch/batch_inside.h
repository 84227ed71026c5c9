/* batch_inside.h - what the files of batches share.
 *
 *   batch.c  closing, looking, who builds          batch_members.c  what becomes of members
 */
#pragma once

#include "store/batch/batch.h"

/* False: there is none. */
bool batch_read_id(struct str bytes, struct id *ret);
/* In an open transaction: whether the claim holds; on PostgreSQL its row is locked. */
bool batch_is_ours(struct writer *w, const struct batch *b, bool *ret, struct err *err);
