#include "table/shape.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/varint.h"
#include "table/shape_say.h"

enum { LINE_MOST = 1000 };

void shape_say(struct buf *lines, const char *fmt, ...)
{
    char text[LINE_MOST];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text - 1, fmt, ap);
    va_end(ap);
    size_t len = str_first(str_of(text), sizeof text - 5).len;

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = '?';
    text[len] = '\n';
    if (len + 1 <= lines->cap - lines->len)
        buf_put(lines, str_mem(text, len + 1));
}

const struct shape_column *shape_column(const struct shape *s, struct str name)
{
    for (size_t i = 0; i < s->count; i++)
        if (str_eq(s->columns[i].name, name))
            return &s->columns[i];
    return NULL;
}
