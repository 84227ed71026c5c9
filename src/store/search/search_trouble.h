/* search_trouble.h - sources of live documents that have an error, or are dead, in doubt or
 * retried.
 *
 * These are few among many that only wait, so they have indices of their own.  The error of a
 * document stands in one of its deliveries, in its own dead task, or with the batch of which it is
 * a member (document.c).  An ended document has none.  The source proposes more than what matches:
 * a document with several failed deliveries shows the error of one.
 */
#pragma once

#include "store/search/search_source.h"

bool search_gather_trouble(struct search *x, struct source *c, int64_t below, struct err *err);
bool search_gather_dead(struct search *x, struct source *c, int64_t below, struct err *err);
bool search_gather_retrying(struct search *x, struct source *c, int64_t below, struct err *err);
