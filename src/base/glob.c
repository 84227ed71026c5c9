#include "base/glob.h"

/* The number of bytes of the character at `at`. */
static size_t glob_character(struct str s, size_t at)
{
    size_t n = 1;

    while (at + n < s.len && ((unsigned char)s.ptr[at + n] & 0xc0) == 0x80)
        n++;
    return n;
}

bool glob_match(struct str pattern, struct str name)
{
    size_t p = 0, n = 0, star = SIZE_MAX, from = 0;

    while (n < name.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++; /* matches nothing at first */
            from = n;
        } else if (p < pattern.len && pattern.ptr[p] == '?') {
            n += glob_character(name, n);
            p++;
        } else if (p < pattern.len && pattern.ptr[p] == name.ptr[n]) {
            n++;
            p++;
        } else if (star != SIZE_MAX) { /* backtrack: the last `*` matches one character more */
            from += glob_character(name, from);
            n = from;
            p = star + 1;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}
