/* term_sweep.h - deletes index entries of attributes and names whose documents were purged.
 *
 * A slot (a range of numbers, term.h) is emptied once no document of it is left, some entries at a
 * time.  Until then entries of purged documents stay: a search proposes their numbers and finds no
 * document.
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct store;

/* One round, up to some hundred thousand entries; *ret_gone is their number.  *io_slot is 0 at
 * first, then where the next round goes on. */
bool terms_sweep(struct store *s, int64_t *io_slot, int64_t *ret_gone, struct err *err);
