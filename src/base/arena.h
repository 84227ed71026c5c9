/* arena.h - memory of one lifetime, freed at once.
 *
 * Passing a `struct arena *` means "the result lives as long as this".  A single
 * piece cannot be freed.  arena_reset() keeps one block that is large enough for what was used,
 * up to `keep` bytes, so that a worker that runs one task after the other does not call the
 * allocator again.
 *
 * Invariants
 *   (1) every piece is aligned to 16 bytes.
 *   (2) used never exceeds the cap given to ARENA_INIT(): a request over it ends
 *       the process (sizes from outside are checked before).
 *
 * Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct arena_block;

struct arena {
    struct arena_block *first, *last;
    size_t used, cap;
    size_t keep; /* 0: the default, 16 KiB */
};

#define ARENA_INIT(cap_) \
    {                    \
        .cap = (cap_)    \
    }

void arena_done(struct arena *a);  /* safe on a zeroed arena, and twice */
void arena_reset(struct arena *a); /* empty, keeps a block               */

void *arena_alloc(struct arena *a, size_t size) __attribute__((returns_nonnull)); /* zeroed */
void *arena_array(struct arena *a, size_t count, size_t size)
    __attribute__((returns_nonnull)); /* zeroed; a product that overflows ends the process */
char *arena_text(struct arena *a, struct str s)
    __attribute__((returns_nonnull));                 /* a terminated copy */
struct str arena_copy(struct arena *a, struct str s); /* also terminated   */
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), returns_nonnull));

#define ARENA_NEW(a, type)      ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_array((a), (n), sizeof(type)))
