#include "core/json_text.h"

#include "core/json_scan.h"

bool json_text_is(struct str raw, bool escapes, struct str want)
{
    size_t n = 0;
    char piece[4];

    if (!escapes)
        return str_eq(raw, want);
    for (size_t i = 0; i < raw.len;) {
        size_t len = 1;

        if (raw.ptr[i] == '\\')
            len = json_scan_unescape(raw, &i, piece);
        else
            piece[0] = raw.ptr[i++];
        if (len == 0 || n + len > want.len || memcmp(want.ptr + n, piece, len) != 0)
            return false;
        n += len;
    }
    return n == want.len;
}

struct str json_pointer_token(struct str raw, struct arena *a)
{
    char *text = arena_text(a, raw);
    size_t n = 0;

    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.ptr[i];

        if (c == '~' && i + 1 < raw.len)
            c = raw.ptr[++i] == '1' ? '/' : '~';
        text[n++] = c;
    }
    return str_mem(text, n);
}

int64_t json_pointer_index(struct str text)
{
    int64_t n = 0;

    if (text.len == 0 || text.len > 9 || (text.len > 1 && text.ptr[0] == '0'))
        return -1;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return -1;
        n = n * 10 + (text.ptr[i] - '0');
    }
    return n;
}
