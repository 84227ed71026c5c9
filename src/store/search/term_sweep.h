/* term_sweep.h - what the indices of attributes and names keep of documents that are gone.
 *
 * A slot in which no document is left is emptied, some entries at a time.  Of a slot that still has
 * one all entries stay: who finds such a number looks at the document, and there is none.
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

/* Now and then: entries of documents that are gone, up to some hundred thousand.  *io_slot is 0 at
 * first, then where to go on. */
bool terms_sweep(struct store *s, int64_t *io_slot, int64_t *ret_gone, struct err *err);
