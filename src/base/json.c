#include "base/json.h"

#include <stdio.h>

static void separate(struct json_out *j)
{
    if (j->comma)
        buf_putc(j->to, ',');
    j->comma = true;
}

void json_open(struct json_out *j, char bracket)
{
    separate(j);
    buf_putc(j->to, bracket);
    j->comma = false;
}

void json_close(struct json_out *j, char bracket)
{
    buf_putc(j->to, bracket);
    j->comma = true;
}

void json_key(struct json_out *j, const char *key)
{
    separate(j);
    buf_putc(j->to, '"');
    json_escape(j->to, str_of(key));
    buf_put(j->to, STR("\":"));
    j->comma = false;
}

void json_str(struct json_out *j, struct str s)
{
    separate(j);
    buf_putc(j->to, '"');
    json_escape(j->to, s);
    buf_putc(j->to, '"');
}

void json_z(struct json_out *j, const char *z)
{
    if (z == NULL)
        json_none(j);
    else
        json_str(j, str_of(z));
}

/* Without printf, for speed: every log line has several numbers. */
void json_int(struct json_out *j, int64_t v)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (v < 0)
        *--at = '-';
    json_raw(j, str_mem(at, (size_t)(digits + sizeof digits - at)));
}

void json_bool(struct json_out *j, bool v)
{
    json_raw(j, v ? STR("true") : STR("false"));
}

void json_none(struct json_out *j)
{
    json_raw(j, STR("null"));
}

void json_raw(struct json_out *j, struct str value)
{
    separate(j);
    buf_put(j->to, value);
}

/* The number of leading bytes of s that need no escape. */
static size_t plain_run(struct str s)
{
    size_t n = 0;

    while (n < s.len && (unsigned char)s.ptr[n] >= 0x20 && (unsigned char)s.ptr[n] < 0x7f &&
           s.ptr[n] != '"' && s.ptr[n] != '\\')
        n++;
    return n;
}

static size_t escape_one(struct buf *to, struct str s)
{
    static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    unsigned char c = (unsigned char)s.ptr[0];

    for (const char *p = shorts; *p != '\0'; p += 2)
        if ((unsigned char)*p == c) {
            buf_putc(to, '\\');
            buf_putc(to, p[1]);
            return 1;
        }
    if (c < 0x20 || c == 0x7f) {
        buf_printf(to, "\\u%04x", c);
        return 1;
    }
    for (size_t n = 2; n <= 4 && n <= s.len; n++)
        if (str_is_utf8((struct str){ s.ptr, n })) {
            buf_put(to, (struct str){ s.ptr, n });
            return n;
        }
    buf_put(to, STR("\\ufffd"));
    return 1;
}

void json_escape(struct buf *to, struct str s)
{
    while (s.len > 0) {
        size_t n = plain_run(s);

        if (n > 0)
            buf_put(to, (struct str){ s.ptr, n });
        else
            n = escape_one(to, s);
        s = str_from(s, n);
    }
}
