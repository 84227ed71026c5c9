#include "base/base64.h"

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static bool encode(const char *letters, bool padded, struct str bytes, struct buf *to,
                   struct err *err)
{
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    size_t groups = bytes.len / 3 + (bytes.len % 3 != 0);

    if (!buf_reserve(to, padded ? groups * 4 : (bytes.len * 4 + 2) / 3, err))
        return false;
    char *out = to->ptr + to->len;
    size_t n = 0;

    for (size_t at = 0; at < bytes.len; at += 3) {
        size_t left = bytes.len - at;
        unsigned v = (unsigned)p[at] << 16 | (left > 1 ? (unsigned)p[at + 1] << 8 : 0) |
                     (left > 2 ? p[at + 2] : 0);

        for (size_t i = 0; i < 4; i++)
            if (i <= left)
                out[n++] = letters[v >> (18 - 6 * i) & 63];
            else if (padded)
                out[n++] = '=';
    }
    buf_added(to, n);
    return true;
}

bool base64_encode(struct str bytes, struct buf *to, struct err *err)
{
    return encode(plain, true, bytes, to, err);
}

bool base64url_encode(struct str bytes, struct buf *to, struct err *err)
{
    return encode(url, false, bytes, to, err);
}

static int digit_of(const char *letters, char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == letters[62] ? 62 : c == letters[63] ? 63 : -1;
}

static struct str without_padding(struct str s)
{
    for (int i = 0; i < 2 && s.len % 4 == (i == 0 ? 0 : 3) && s.len > 0; i++)
        if (s.ptr[s.len - 1] == '=')
            s.len--;
    return s;
}

/* *ret_rest: the unused bits of the last character. */
static bool decode(const char *letters, struct str s, struct buf *to, unsigned *ret_rest,
                   struct err *err)
{
    unsigned v = 0;

    if (s.len % 4 == 1)
        return err_set(err, ERR_PERMANENT, 0, "not base64: %zu letters", s.len);
    for (size_t i = 0; i < s.len; i++)
        if (digit_of(letters, s.ptr[i]) < 0)
            return err_set(err, ERR_PERMANENT, 0, "not base64: byte %zu", i + 1);
    if (!buf_reserve(to, s.len / 4 * 3 + 2, err))
        return false;
    char *out = to->ptr + to->len;
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        v = v << 6 | (unsigned)digit_of(letters, s.ptr[i]);
        if (i % 4 != 0)
            out[n++] = (char)(v >> (6 - i % 4 * 2) & 0xff);
    }
    buf_added(to, n);
    *ret_rest = s.len % 4 == 2 ? v & 15 : s.len % 4 == 3 ? v & 3 : 0;
    return true;
}

bool base64_decode(struct str text, struct buf *to, struct err *err)
{
    unsigned rest; /* not checked: some senders do not clear the unused bits */

    return decode(plain, without_padding(text), to, &rest, err);
}

bool base64url_decode(struct str text, struct buf *to, struct err *err)
{
    unsigned rest;

    return decode(url, text, to, &rest, err) &&
           (rest == 0 || err_set(err, ERR_PERMANENT, 0, "not base64: bits are left over"));
}
