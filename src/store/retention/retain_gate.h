/* retain_gate.h - keeps purging and copying of the store apart: a lock with many purgers inside, or
 * closed by a copy.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct store;

struct retain_gate *retain_gate_new(void);
void retain_gate_free(struct retain_gate *g);

/* Brackets everything that purges; false: purging is paused. */
bool retain_enter(struct store *s);
void retain_leave(struct store *s);

/* Stops purging and waits for purgers inside; nests, each pause needs its release.  For code that
 * copies the store. */
void retain_pause(struct store *s);
void retain_release(struct store *s);
bool retain_is_paused(struct store *s);
/* The number of pauses begun so far: a change means that a purge in between may have been refused.
 */
int64_t retain_pauses(struct store *s);
