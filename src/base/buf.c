#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/require.h"

char buf_empty[1];

void buf_done(struct buf *b)
{
    if (b->ptr != buf_empty)
        free(b->ptr);
    *b = (struct buf)BUF_INIT(b->cap);
}

void buf_cut(struct buf *b, size_t len)
{
    if (len >= b->len)
        return;
    b->len = len;
    b->ptr[len] = '\0';
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->ptr != buf_empty)
        b->ptr[0] = '\0';
}

static bool buf_grow(struct buf *b, size_t more)
{
    require(b->ptr != NULL && b->len <= b->cap); /* (1) (2) */
    require(b->cap <= SIZE_MAX / 4);             /* a cap, not "no limit" */
    if (more > b->cap - b->len)
        return false;
    if (b->len + more >= b->size) {
        size_t size = (b->len + more) * 2 + 16;

        if (size > b->cap + 1) /* never more than the cap and the terminator */
            size = b->cap + 1;
        b->ptr = xrealloc(b->ptr == buf_empty ? NULL : b->ptr, size);
        b->size = size;
        b->ptr[b->len] = '\0';
    }
    return true;
}

bool buf_reserve(struct buf *b, size_t more, struct err *err)
{
    if (!buf_grow(b, more))
        return err_set(err, ERR_LIMIT, 0, "buffer over its cap of %zu bytes", b->cap);
    return true;
}

bool buf_append(struct buf *b, struct str bytes, struct err *err)
{
    if (!buf_reserve(b, bytes.len, err))
        return false;
    if (bytes.len > 0)
        memcpy(b->ptr + b->len, bytes.ptr, bytes.len);
    buf_added(b, bytes.len);
    return true;
}

void buf_added(struct buf *b, size_t n)
{
    require(b->size > b->len && n < b->size - b->len); /* no more than was reserved */
    b->len += n;
    b->ptr[b->len] = '\0'; /* (1) */
}

void buf_put(struct buf *b, struct str bytes)
{
    struct err err;
    bool fits = buf_append(b, bytes, &err);

    require(fits);
}

void buf_puts(struct buf *b, const char *z)
{
    buf_put(b, str_of(z));
}

void buf_putc(struct buf *b, char c)
{
    buf_put(b, str_mem(&c, 1));
}

void buf_put_int(struct buf *b, int64_t v)
{
    char text[24], *at = text + sizeof text;
    uint64_t n = v < 0 ? -(uint64_t)v : (uint64_t)v;

    do {
        *--at = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    if (v < 0)
        *--at = '-';
    buf_put(b, str_mem(at, (size_t)(text + sizeof text - at)));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;

    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);

    va_end(ap);
    require(n >= 0);
    bool fits = buf_grow(b, (size_t)n); /* reserves the terminator too */

    require(fits);
    (void)vsnprintf(b->ptr + b->len, (size_t)n + 1, fmt, again);
    va_end(again);
    buf_added(b, (size_t)n);
}

struct str buf_view(const struct buf *b)
{
    return (struct str){ b->ptr, b->len };
}
