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

/* ---- which shape it is ---- */

static void shape_digest_text(struct digest *d, struct str text)
{
    char len[VARINT_MOST];

    digest_add(d, str_mem(len, (size_t)(varint_put(len, text.len) - len)));
    digest_add(d, text);
}

/* Not what a driver notes for itself, nor how it quotes. */
struct sha256 shape_digest(const struct shape *s)
{
    struct digest d = digest_start();

    shape_digest_text(&d, s->schema);
    shape_digest_text(&d, s->name);
    for (size_t i = 0; i < s->count; i++) {
        const struct shape_column *c = &s->columns[i];
        char flags[] = { (char)c->natural,     (char)c->nullable, (char)c->generated,
                         (char)c->has_default, (char)c->bytewise, (char)c->padded,
                         (char)c->key_place };

        shape_digest_text(&d, c->name);
        shape_digest_text(&d, c->native);
        digest_add(&d, str_mem(flags, sizeof flags));
    }
    return digest_end(&d);
}

/* ---- what has changed ---- */

static void compare_flag(struct buf *lines, const struct shape_column *now, bool before, bool is,
                         const char *on, const char *off)
{
    if (before != is)
        shape_say(lines, "column %.*s: it %s", SHAPE_NAME(now->name), is ? on : off);
}

static void compare_columns(const struct shape_column *before, const struct shape_column *now,
                            struct buf *lines)
{
    if (!str_eq(before->native, now->native))
        shape_say(lines, "column %.*s: %.*s is %.*s now", SHAPE_NAME(now->name),
                  SHAPE_NAME(before->native), SHAPE_NAME(now->native));
    else if (before->natural != now->natural)
        shape_say(lines, "column %.*s: %.*s is read as %s now, not as %s", SHAPE_NAME(now->name),
                  SHAPE_NAME(now->native), cell_types[now->natural], cell_types[before->natural]);
    compare_flag(lines, now, before->nullable, now->nullable, "may be NULL now",
                 "may not be NULL any more");
    compare_flag(lines, now, before->generated, now->generated, "is computed by the database now",
                 "is not computed by the database any more");
    compare_flag(lines, now, before->has_default, now->has_default, "has a default now",
                 "has no default any more");
    compare_flag(lines, now, before->bytewise, now->bytewise, "is compared byte by byte now",
                 "is not compared byte by byte any more");
    compare_flag(lines, now, before->padded, now->padded, "is padded with blanks now",
                 "is not padded with blanks any more");
    if (before->key_place != now->key_place)
        shape_say(lines, "column %.*s: its place in the primary key is %d now, it was %d (0: none)",
                  SHAPE_NAME(now->name), now->key_place, before->key_place);
}

static bool compare_order(const struct shape *before, const struct shape *now)
{
    bool same = before->count == now->count;

    for (size_t i = 0; same && i < now->count; i++)
        same = str_eq(before->columns[i].name, now->columns[i].name);
    return same;
}

void shape_compare(const struct shape *before, const struct shape *now, struct buf *lines)
{
    bool same_columns = before->count == now->count;

    if (!str_eq(before->schema, now->schema) || !str_eq(before->name, now->name))
        shape_say(lines, "the table is %.*s.%.*s now, it was %.*s.%.*s", SHAPE_NAME(now->schema),
                  SHAPE_NAME(now->name), SHAPE_NAME(before->schema), SHAPE_NAME(before->name));
    for (size_t i = 0; i < before->count; i++) {
        const struct shape_column *c = &before->columns[i];
        const struct shape_column *is = shape_column(now, c->name);

        if (is == NULL) {
            shape_say(lines, "column %.*s: it is gone", SHAPE_NAME(c->name));
            same_columns = false;
        } else {
            compare_columns(c, is, lines);
        }
    }
    for (size_t i = 0; i < now->count; i++) {
        const struct shape_column *c = &now->columns[i];

        if (shape_column(before, c->name) == NULL)
            shape_say(lines, "column %.*s: it is new, %.*s%s%s", SHAPE_NAME(c->name),
                      SHAPE_NAME(c->native), c->nullable ? "" : ", not NULL",
                      c->key_place > 0 ? ", in the primary key" : "");
    }
    if (same_columns && !compare_order(before, now))
        shape_say(lines, "the columns stand in another order");
}
