#include "core/s3/s3_text.h"

static bool s3_is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

bool s3_encode(struct str text, bool slash, struct buf *to, struct err *err)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        char triple[3] = { '%', hex[(unsigned char)c >> 4], hex[(unsigned char)c & 15] };
        bool plain = s3_is_plain(c) || (slash && c == '/');

        if (!buf_append(to, plain ? str_mem(text.ptr + i, 1) : str_mem(triple, 3), err))
            return false;
    }
    return true;
}

bool s3_decode(struct str text, struct buf *to, struct err *err)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i] == '+' ? ' ' : text.ptr[i];

        if (c == '%') {
            int high = text.len - i > 2 ? str_hex_digit(text.ptr[i + 1]) : -1;
            int low = text.len - i > 2 ? str_hex_digit(text.ptr[i + 2]) : -1;

            if (high < 0 || low < 0)
                return err_set(err, ERR_PERMANENT, 0, "a name has a broken escape at byte %zu", i);
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (!buf_append(to, str_mem(&c, 1), err))
            return false;
    }
    return true;
}
