/* alloc.h - allocation that never returns NULL.
 *
 * For small requests below a limit we chose: when memory runs out, the process
 * ends and the next start recovers (crash-only).  Sizes that come from
 * outside go through struct buf, which has a cap and returns an error.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull)); /* zeroed */
void *xrealloc(void *p, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *z) __attribute__((malloc, returns_nonnull));
char *xstrndup(struct str s) __attribute__((malloc, returns_nonnull)); /* terminated */

#define NEW(type) ((type *)xcalloc(1, sizeof(type)))
