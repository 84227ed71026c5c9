/* lines.h - keeps the open connections of connectors between their calls (core/line/line.h).
 *
 * A line that nobody has used for LINES_IDLE_US is closed, and so is one whose settings are not
 * those of any connector of the newest configuration.  At most LINES_MOST wait here; one more
 * closes the one that has waited longest.
 *
 * Ownership: counted, because a call that hangs may return after the engine has let go of it.
 *
 * Threads: any; one short lock, and lines are closed without it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/digest.h"

struct line_port;
struct lines;

enum { LINES_MOST = 256, LINES_IDLE_US = 60 * CLOCK_S };

struct lines *lines_new(void);
struct lines *lines_ref(struct lines *l);
void lines_unref(struct lines *l); /* the last one closes all; NULL is fine */

struct line_port *lines_port(struct lines *l);

/* From now on only lines with these keys are kept. */
void lines_use(struct lines *l, const struct sha256 *keys, size_t count);
/* From now on lines with any key are kept ... */
void lines_use_any(struct lines *l);
/* ... until somebody knows that no connector has this one any more. */
void lines_drop(struct lines *l, const struct sha256 *key);
/* Closes those that have waited for too long; called now and then. */
void lines_sweep(struct lines *l, int64_t now_us);
/* Closes all and keeps none any more: the node stops. */
void lines_stop(struct lines *l);
