/* mishaps.h - what goes wrong, gathered in memory and written to the store now and then.
 *
 * One entry per code and object; a flood of errors costs one row a second.  When the table
 * is full the rest is counted under object `other`.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct mishap;
struct mishaps;
struct store;

struct mishaps *mishaps_new(void);
void mishaps_free(struct mishaps *m);
void mishaps_note(struct mishaps *m, const char *code, const char *kind, struct str object,
                  const char *message);
/* A flood of one kind is not a flood of lines: a few are said at once, then one a minute, and the
 * rest is only counted.  *ret_more: how many were not said before this one. */
bool mishaps_may_say(struct mishaps *m, struct str code, int64_t object, int64_t *ret_more);
/* Called with what was written, by whoever writes. */
void mishaps_tell(struct mishaps *m,
                  void (*written)(void *arg, const struct mishap *list, size_t count), void *arg);
bool mishaps_write(struct mishaps *m, struct store *s, struct err *err); /* blocks */
