/* str.h - a view of bytes owned by someone else: passed by value, never freed.
 *
 * The only string type besides struct buf.  A view may contain any byte; it is
 * not terminated.  Numbers are parsed here and nowhere else, with the whole
 * view consumed and overflow refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *ptr;
    size_t len;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })

/* For printf: printf("%.*s", STR_ARG(s)). */
#define STR_ARG(s) (int)(s).len, (s).ptr

static inline struct str str_of(const char *z)
{
    return (struct str){ z, strlen(z) };
}

static inline struct str str_mem(const void *p, size_t len)
{
    return (struct str){ p, len };
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool str_is(struct str a, const char *z)
{
    return str_eq(a, str_of(z));
}

bool str_eq_nocase(struct str a, struct str b); /* ASCII only */
bool str_starts(struct str s, struct str prefix);
struct str str_trim(struct str s); /* blanks and tabs at both ends */
struct str str_from(struct str s,
                    size_t at);           /* s without its first `at` bytes; empty when shorter */
int str_cmp(struct str a, struct str b);  /* bytes, then length */
ptrdiff_t str_find(struct str s, char c); /* -1: not found */

/* Cuts s at the first `sep`: *ret_head is what precedes it, the result what follows.
 * Without a `sep` the head is all of s and the result is empty. */
struct str str_cut(struct str s, char sep, struct str *ret_head);

bool str_to_u64(struct str s, uint64_t *ret); /* decimal digits only, whole view */
bool str_to_i64(struct str s, int64_t *ret);

bool str_is_utf8(struct str s);
/* Encodes a character; returns the number of bytes, at most four. */
size_t str_put_utf8(uint32_t character, char to[static 4]);
/* Contains a byte below 0x20, or DEL. */
bool str_has_control(struct str s);
int str_hex_digit(char c); /* its value; -1: not a hex digit */
/* The first `most` bytes of s, or up to three fewer, so that no character is cut. */
struct str str_first(struct str s, size_t most);

/* The edit distance of two short words, for suggestions; words over 64 bytes
 * are as far apart as their longer length. */
size_t str_distance(struct str a, struct str b);
