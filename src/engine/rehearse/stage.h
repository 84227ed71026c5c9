/* stage.h - what a step made of a past document, computed again.
 *
 * The document is walked in memory with the version that it ran with.  The result counts only if
 * the steps are those of the timeline, and if they make what was stored of the others.  Services
 * are pure (core/connector.h), so nothing outside notices.
 *
 * Bounded: one computation at a time on a node, for which half of the time is waited at most, and
 * no step begins after the time is up.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct document;
struct road;

/* Computes stage `number` (core/stages.h), which is in the document's timeline.  *ret_config is the
 * version.  ERR_TRANSIENT: the store cannot be read now, or another is being computed.  Any other
 * error says why it cannot be computed. */
bool stage_compute(struct road *r, const struct document *d, int64_t number, int64_t until_us,
                   struct buf *to, int64_t *ret_config, struct err *err);
