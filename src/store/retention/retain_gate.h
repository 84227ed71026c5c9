/* retain_gate.h - who lets go of something passes here; who copies the store closes it.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct store;

struct retain_gate *retain_gate_new(void);
void retain_gate_free(struct retain_gate *g);

/* Whoever lets go of something is inside; false: it is paused. */
bool retain_enter(struct store *s);
void retain_leave(struct store *s);

/* Nothing is let go of until it is released as often; waits for what is going on.  For whoever
 * copies the store. */
void retain_pause(struct store *s);
void retain_release(struct store *s);
bool retain_is_paused(struct store *s);
/* How many began so far: whoever finds another number was perhaps interrupted. */
int64_t retain_pauses(struct store *s);
