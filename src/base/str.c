#include "base/str.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.ptr[i]) != lower(b.ptr[i]))
            return false;
    return true;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

struct str str_trim(struct str s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s.ptr++, s.len--;
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

struct str str_from(struct str s, size_t at)
{
    if (s.len == 0) /* ptr may be NULL: NULL + 0 is undefined in C */
        return s;
    if (at > s.len)
        at = s.len;
    return (struct str){ s.ptr + at, s.len - at };
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n == 0 ? 0 : memcmp(a.ptr, b.ptr, n);

    if (c != 0)
        return c;
    return a.len < b.len ? -1 : a.len > b.len;
}

ptrdiff_t str_find(struct str s, char c)
{
    const char *p = s.len == 0 ? NULL : memchr(s.ptr, c, s.len);

    return p == NULL ? -1 : p - s.ptr;
}

struct str str_cut(struct str s, char sep, struct str *ret_head)
{
    ptrdiff_t at = str_find(s, sep);

    if (at < 0) {
        *ret_head = s;
        return str_from(s, s.len);
    }
    *ret_head = (struct str){ s.ptr, (size_t)at };
    return str_from(s, (size_t)at + 1);
}

bool str_to_u64(struct str s, uint64_t *ret)
{
    uint64_t v = 0;

    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned d = (unsigned)(s.ptr[i] - '0');

        if (d > 9 || __builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, d, &v))
            return false;
    }
    *ret = v;
    return true;
}

bool str_to_i64(struct str s, int64_t *ret)
{
    bool minus = s.len > 0 && s.ptr[0] == '-';
    uint64_t v;

    if (!str_to_u64(minus ? str_from(s, 1) : s, &v))
        return false;
    if (v > (uint64_t)INT64_MAX + (minus ? 1 : 0))
        return false;
    *ret = minus ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* The length of the well-formed UTF-8 sequence at p, 0 if there is none. */
static size_t utf8_step(const unsigned char *p, size_t left)
{
    unsigned char c = p[0];
    size_t n = c < 0x80 ? 1 : c >= 0xc2 && c <= 0xdf ? 2 : (c & 0xf0) == 0xe0 ? 3 : 4;

    if (n == 1)
        return 1;
    if (c < 0xc2 || c > 0xf4 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f) || (c == 0xf0 && p[1] < 0x90) ||
        (c == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

bool str_is_utf8(struct str s)
{
    size_t i = 0;

    while (i < s.len) {
        size_t n = utf8_step((const unsigned char *)s.ptr + i, s.len - i);

        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

struct str str_first(struct str s, size_t most)
{
    size_t n = most;

    if (s.len <= most)
        return s;
    while (n > 0 && most - n < 3 && ((unsigned char)s.ptr[n] & 0xc0) == 0x80)
        n--;
    return str_mem(s.ptr, n);
}

size_t str_distance(struct str a, struct str b)
{
    enum { MOST = 64 };
    size_t row[MOST + 1];

    if (a.len > MOST || b.len > MOST)
        return a.len > b.len ? a.len : b.len;
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t best = corner + (a.ptr[i - 1] != b.ptr[j - 1]);

            corner = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b.len];
}

size_t str_put_utf8(uint32_t character, char to[static 4])
{
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    size_t n = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

    for (size_t i = n - 1; i > 0; i--, character >>= 6)
        to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | character);
    return n;
}

bool str_has_control(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
            return true;
    return false;
}

int str_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
