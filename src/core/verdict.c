#include "core/verdict.h"

#include <stdarg.h>
#include <stdio.h>

/* The message may quote the answer of a receiver: make it one line of valid text. */
static void make_plain(char *text, size_t len)
{
    bool utf8 = str_is_utf8(str_mem(text, len));

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c < ' ' || c == 0x7f)
            text[i] = ' ';
        else if (c >= 0x80 && !utf8)
            text[i] = '?';
    }
}

enum verdict_kind verdict_say(struct verdict *v, enum verdict_kind kind, const char *fmt, ...)
{
    char text[VERDICT_MESSAGE_MOST + 4]; /* room to detect a cut character */
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct str message = str_first(str_of(text), VERDICT_MESSAGE_MOST - 1);

    memcpy(v->message, message.ptr, message.len);
    v->message[message.len] = '\0';
    make_plain(v->message, message.len);
    v->kind = kind;
    return kind;
}
