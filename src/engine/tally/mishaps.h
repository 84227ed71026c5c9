/* mishaps.h - counts what goes wrong, in memory; written to the store every second.
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
/* Limits log lines per code and object: five at once, then one a minute; the rest is only counted.
 * *ret_more: how many were suppressed before this one. */
bool mishaps_may_say(struct mishaps *m, struct str code, int64_t object, int64_t *ret_more);
/* `written` is called with the rows of each successful mishaps_write(), on its thread. */
void mishaps_tell(struct mishaps *m,
                  void (*written)(void *arg, const struct mishap *list, size_t count), void *arg);
bool mishaps_write(struct mishaps *m, struct store *s, struct err *err); /* blocks */
