#include "base/http_target.h"

static bool http_target_is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

/* Decodes the character at *at; *ret_escaped: it was written as %XX. */
static bool decode_one(struct str raw, size_t *at, char *ret_c, bool *ret_escaped, struct err *err)
{
    char c = raw.ptr[*at];

    *ret_escaped = c == '%';
    if (*ret_escaped) {
        int high = *at + 2 < raw.len ? str_hex_digit(raw.ptr[*at + 1]) : -1;
        int low = high >= 0 ? str_hex_digit(raw.ptr[*at + 2]) : -1;

        if (low < 0)
            return err_set(err, ERR_PERMANENT, 0, "a percent sign without two hex digits");
        c = (char)(high * 16 + low);
        *at += 2;
    }
    *at += 1;
    if (http_target_is_control(c))
        return err_set(err, ERR_PERMANENT, 0, "a control byte in the target");
    *ret_c = c;
    return true;
}

static bool no_dot_segments(struct str path, struct err *err)
{
    struct str segment, rest = path;

    while (rest.len > 0) {
        rest = str_cut(rest, '/', &segment);
        if (str_is(segment, ".") || str_is(segment, ".."))
            return err_set(err, ERR_PERMANENT, 0, "a dot segment in the path");
    }
    return true;
}

bool http_decode_path(struct str raw, struct buf *to, struct err *err)
{
    size_t start = to->len;

    for (size_t i = 0; i < raw.len;) {
        char c;
        bool escaped;

        if (!decode_one(raw, &i, &c, &escaped, err))
            return false;
        if (escaped && (c == '/' || c == '\\'))
            return err_set(err, ERR_PERMANENT, 0, "an escaped slash in the path");
        if (!buf_append(to, str_mem(&c, 1), err))
            return false;
    }
    struct str path = str_from(buf_view(to), start);

    if (!str_is_utf8(path))
        return err_set(err, ERR_PERMANENT, 0, "the path is not UTF-8");
    return no_dot_segments(path, err);
}

static bool decode_value(struct str raw, struct buf *to, struct err *err)
{
    size_t start = to->len;

    for (size_t i = 0; i < raw.len;) {
        char c;
        bool escaped;

        if (!decode_one(raw, &i, &c, &escaped, err))
            return false;
        if (c == '+' && !escaped)
            c = ' ';
        if (!buf_append(to, str_mem(&c, 1), err))
            return false;
    }
    if (!str_is_utf8(str_from(buf_view(to), start)))
        return err_set(err, ERR_PERMANENT, 0, "a query value is not UTF-8");
    return true;
}

bool http_decode_query(struct str query, struct str name, struct buf *to, bool *ret_found,
                       struct err *err)
{
    struct str pair, key;

    while (query.len > 0) {
        query = str_cut(query, '&', &pair);
        struct str value = str_cut(pair, '=', &key);

        if (!str_eq(key, name))
            continue;
        if (!decode_value(value, to, err))
            return err_context(err, "parameter %.*s", STR_ARG(name));
        *ret_found = true;
        return true;
    }
    *ret_found = false;
    return true;
}

bool http_put_field(struct buf *to, const char *name, struct str value, struct err *err)
{
    for (size_t i = 0; i < value.len; i++)
        if (http_target_is_control(value.ptr[i]) && value.ptr[i] != '\t')
            return err_set(err, ERR_PERMANENT, 0, "a control byte in the value of %s", name);
    return buf_append(to, str_of(name), err) && buf_append(to, STR(": "), err) &&
           buf_append(to, value, err) && buf_append(to, STR("\r\n"), err);
}

bool http_is_token(struct str s)
{
    static const char also[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
              memchr(also, c, sizeof also - 1) != NULL))
            return false;
    }
    return s.len > 0;
}
