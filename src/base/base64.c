#include "base/base64.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool base64_encode(struct str bytes, struct buf *to, struct err *err)
{
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    size_t groups = bytes.len / 3 + (bytes.len % 3 != 0);

    if (!buf_reserve(to, groups * 4, err))
        return false;
    char *out = to->ptr + to->len;

    for (size_t at = 0; at < bytes.len; at += 3) {
        size_t left = bytes.len - at;
        unsigned v = (unsigned)p[at] << 16 | (left > 1 ? (unsigned)p[at + 1] << 8 : 0) |
                     (left > 2 ? p[at + 2] : 0);

        *out++ = letters[v >> 18];
        *out++ = letters[v >> 12 & 63];
        *out++ = left > 1 ? letters[v >> 6 & 63] : '=';
        *out++ = left > 2 ? letters[v & 63] : '=';
    }
    buf_added(to, groups * 4);
    return true;
}

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static struct str without_padding(struct str s)
{
    for (int i = 0; i < 2 && s.len % 4 == (i == 0 ? 0 : 3) && s.len > 0; i++)
        if (s.ptr[s.len - 1] == '=')
            s.len--;
    return s;
}

bool base64_decode(struct str text, struct buf *to, struct err *err)
{
    struct str s = without_padding(text);
    unsigned v = 0;

    if (s.len % 4 == 1)
        return err_set(err, ERR_PERMANENT, 0, "not base64: %zu letters", s.len);
    for (size_t i = 0; i < s.len; i++)
        if (digit_of(s.ptr[i]) < 0)
            return err_set(err, ERR_PERMANENT, 0, "not base64: byte %zu", i + 1);
    if (!buf_reserve(to, s.len / 4 * 3 + 2, err))
        return false;
    char *out = to->ptr + to->len;
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        v = v << 6 | (unsigned)digit_of(s.ptr[i]);
        if (i % 4 != 0)
            out[n++] = (char)(v >> (6 - i % 4 * 2) & 0xff);
    }
    buf_added(to, n);
    return true;
}
