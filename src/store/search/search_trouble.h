/* search_trouble.h - live documents that have an error, or are dead or in doubt: among many that
 * only wait there are few.
 *
 * What is wrong with a document stands in a delivery of it, in its own dead task, or in what became
 * of the batch that it is a member of (document.c).  Of an ended one nothing of that is left.  What
 * is found here is a little more than what matches: of several deliveries the document shows one.
 */
#pragma once

#include "store/search/search_source.h"

bool search_gather_trouble(struct search *x, struct source *c, int64_t below, struct err *err);
bool search_gather_dead(struct search *x, struct source *c, int64_t below, struct err *err);
