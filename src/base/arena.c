#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/require.h"

enum { BLOCK = 8192, KEEP = 16 << 10, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    _Alignas(ALIGN) char bytes[];
};

static void free_blocks(struct arena_block *b)
{
    for (struct arena_block *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
}

void arena_done(struct arena *a)
{
    free_blocks(a->first);
    *a = (struct arena){ .cap = a->cap, .keep = a->keep };
}

static void add_block(struct arena *a, size_t room)
{
    struct arena_block *b = xmalloc(sizeof *b + room);

    *b = (struct arena_block){ .size = room };
    if (a->last != NULL)
        a->last->next = b;
    else
        a->first = b;
    a->last = b;
}

/* Several blocks become one that would have held everything. */
void arena_reset(struct arena *a)
{
    size_t keep = a->keep > 0 ? a->keep : KEEP, used = a->used;
    struct arena_block *first = a->first;

    if (first == NULL)
        return;
    if (first->next != NULL) {
        free_blocks(first);
        a->first = a->last = NULL;
        used += used / 4;
        add_block(a, used < BLOCK ? BLOCK : used < keep ? used : keep);
    }
    a->last = a->first;
    a->first->used = 0;
    a->used = 0;
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t need = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1); /* (1) */
    struct arena_block *b = a->last;

    require(need >= size && need <= a->cap - a->used); /* (2) */
    if (b == NULL || need > b->size - b->used) {
        add_block(a, need > BLOCK ? need : BLOCK);
        b = a->last;
    }
    void *p = b->bytes + b->used;

    b->used += need;
    a->used += need;
    memset(p, 0, need);
    return p;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    bool over = __builtin_mul_overflow(count, size, &bytes);

    require(!over);
    return arena_alloc(a, bytes);
}

char *arena_text(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.len + 1);

    if (s.len > 0)
        memcpy(p, s.ptr, s.len);
    return p;
}

struct str arena_copy(struct arena *a, struct str s)
{
    return (struct str){ arena_text(a, s), s.len };
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;

    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);

    va_end(ap);
    require(n >= 0);
    char *p = arena_alloc(a, (size_t)n + 1);

    (void)vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}
