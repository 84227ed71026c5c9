#include "core/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/require.h"

enum { MESSAGE_MOST = 480, HINT_MOST = 1600 };

void problem_list_done(struct problem_list *list)
{
    arena_done(&list->arena);
    list->count = list->left_out = 0;
}

static const char *one_line(struct arena *arena, const char *text, size_t most)
{
    struct str s = str_of(text);

    if (s.len > most)
        s.len = most;
    char *copy = arena_text(arena, s);

    for (char *p = copy; *p != '\0'; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = ' ';
    return copy;
}

void problem_add(struct problem_list *list, struct place place, const char *hint, const char *fmt,
                 ...)
{
    char text[MESSAGE_MOST];
    va_list ap;

    if (list->count == PROBLEM_MOST) { /* (1) */
        list->left_out++;
        return;
    }
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    list->items[list->count++] = (struct problem){
        .place = place,
        .message = one_line(&list->arena, text, sizeof text),
        .hint = hint == NULL || *hint == '\0' ? NULL : one_line(&list->arena, hint, HINT_MOST),
    };
}

static bool comes_after(const struct problem *a, const struct problem *b)
{
    if (a->place.line != b->place.line)
        return a->place.line > b->place.line;
    return a->place.column > b->place.column;
}

void problem_sort(struct problem_list *list)
{
    require(list->count <= PROBLEM_MOST); /* (1) */
    for (size_t i = 1; i < list->count; i++) {
        struct problem moving = list->items[i];
        size_t to = i;

        for (; to > 0 && comes_after(&list->items[to - 1], &moving); to--)
            list->items[to] = list->items[to - 1];
        list->items[to] = moving;
    }
}

const char *problem_quote(char text[static PROBLEM_QUOTE], struct str value)
{
    enum { ROOM = PROBLEM_QUOTE - 8 };
    size_t n = value.len < ROOM ? value.len : ROOM;

    while (n > 0 && n < value.len && (value.ptr[n] & 0xc0) == 0x80)
        n--; /* do not cut a character */
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        text[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    (void)snprintf(text + n, PROBLEM_QUOTE - n, "%s", n < value.len ? "..." : "");
    return text;
}
