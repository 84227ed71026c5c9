/* varint.h - unsigned integers of variable length: seven bits per byte, lowest first (LEB128).
 *
 * For binary records that we store.  Reading is strict: no more than
 * VARINT_MOST bytes, no bits beyond 64.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { VARINT_MOST = 10 };

/* Returns the end of the number; `to` has room for VARINT_MOST bytes. */
static inline char *varint_put(char *to, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        *to++ = (char)(n | 0x80);
    *to++ = (char)n;
    return to;
}

/* How many bytes varint_put() writes. */
static inline size_t varint_size(uint64_t n)
{
    return (size_t)(64 - __builtin_clzll(n | 1) + 6) / 7;
}

/* Takes a number off the front of *s; false: there is none, and *s is unchanged. */
static inline bool varint_take(struct str *s, uint64_t *ret)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->len && i < VARINT_MOST; i++) {
        uint64_t c = (unsigned char)s->ptr[i];

        if (i == VARINT_MOST - 1 && c > 1)
            return false;
        n |= (c & 0x7f) << (7 * i);
        if (c < 0x80) {
            *s = (struct str){ s->ptr + i + 1, s->len - i - 1 };
            *ret = n;
            return true;
        }
    }
    return false;
}

/* The same, if it has no more bytes than it needs: what is written again is the same then. */
static inline bool varint_take_least(struct str *s, uint64_t *ret)
{
    struct str rest = *s;
    uint64_t n;

    if (!varint_take(&rest, &n) || s->len - rest.len != varint_size(n))
        return false;
    *s = rest;
    *ret = n;
    return true;
}

/* Writes a text with its length in front. */
static inline char *varint_put_text(char *to, struct str text)
{
    to = varint_put(to, text.len);
    if (text.len > 0)
        memcpy(to, text.ptr, text.len);
    return to + text.len;
}

/* Takes such a text off the front of *s; *ret is a view into *s. */
static inline bool varint_take_text(struct str *s, struct str *ret)
{
    struct str rest = *s;
    uint64_t len;

    if (!varint_take(&rest, &len) || len > rest.len)
        return false;
    *ret = (struct str){ rest.ptr, (size_t)len };
    *s = (struct str){ rest.ptr + len, rest.len - (size_t)len };
    return true;
}
