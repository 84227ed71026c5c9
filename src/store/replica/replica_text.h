/* replica_text.h - words of databases of others, as the store takes them: UTF-8, cut, on one line.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

enum { REPLICA_TEXT_MOST = 1000 };

static inline struct str replica_text(struct arena *a, struct str text)
{
    struct str cut = str_first(text, REPLICA_TEXT_MOST);
    bool utf8 = str_is_utf8(cut);
    char *copy = arena_text(a, cut);

    for (size_t i = 0; i < cut.len; i++) {
        unsigned char c = (unsigned char)copy[i];

        if (c < 0x20 || c == 0x7f)
            copy[i] = ' ';
        else if (c >= 0x80 && !utf8)
            copy[i] = '?';
    }
    return str_mem(copy, cut.len);
}
