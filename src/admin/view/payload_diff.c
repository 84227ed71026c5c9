#include "admin/view/payload_diff.h"

#include <string.h>

#include "admin/view/diff.h"
#include "base/auto.h"

enum { BROKEN_MOST = PAYLOAD_DIFF_IN * 2, ALL_MOST = PAYLOAD_DIFF_IN * 8 };

bool payload_is_text(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.ptr[i] < ' ' && (s.ptr[i] < '\t' || s.ptr[i] > '\r'))
            return false;
    return str_is_utf8(s);
}

static bool payload_diff_is_text(struct str s)
{
    return s.len <= PAYLOAD_DIFF_IN && payload_is_text(s);
}

/* Delimiters that end a tag, a value or a segment. */
static bool ends_something(char c)
{
    return c != '\0' && strchr(">,;{}[]'~", c) != NULL;
}

static bool payload_diff_put_line(struct str line, struct buf *to, struct err *err)
{
    size_t from = 0;

    for (size_t i = 0; line.len > PAYLOAD_DIFF_LINE && i + 1 < line.len; i++) {
        if (!ends_something(line.ptr[i]) && line.ptr[i + 1] != '<')
            continue;
        if (!buf_append(to, str_mem(line.ptr + from, i + 1 - from), err) ||
            !buf_append(to, STR("\n"), err))
            return false;
        from = i + 1;
    }
    return buf_append(to, str_mem(line.ptr + from, line.len - from), err) &&
           buf_append(to, STR("\n"), err);
}

static bool break_lines(struct str text, struct buf *to, struct err *err)
{
    while (text.len > 0) {
        struct str line, rest = str_cut(text, '\n', &line);

        if (!payload_diff_put_line(line, to, err))
            return false;
        text = rest;
    }
    return true;
}

/* The length of the whole lines that fit; if the last line is long, cuts it between two characters.
 */
static size_t first_lines(struct str text)
{
    size_t most = PAYLOAD_DIFF_OUT, end;

    for (end = most; end > most / 2; end--)
        if (text.ptr[end - 1] == '\n')
            return end;
    for (end = most; end > 0 && ((unsigned char)text.ptr[end] & 0xc0) == 0x80;)
        end--;
    return end;
}

/* Payloads that differ only in line breaks may be equal after long lines are broken: then they are
 * compared as they are.  If even that shows no hunk, they differ in the final line break only. */
static bool payload_diff_compare(struct str was, struct str would, struct buf *to, struct err *err)
{
    AUTO(buf_done) struct buf old = BUF_INIT(BROKEN_MOST);
    AUTO(buf_done) struct buf new = BUF_INIT(BROKEN_MOST);

    if (!break_lines(was, &old, err) || !break_lines(would, &new, err) ||
        !diff_text(buf_view(&old), buf_view(&new), "was", "would be", to, err))
        return false;
    if (to->len == 0 && !diff_text(was, would, "was", "would be", to, err))
        return false;
    return str_find(buf_view(to), '@') >= 0 ||
           buf_append(to, STR("only the end of the last line differs\n"), err);
}

bool payload_diff(struct str was, struct str would, struct buf *to, bool *ret_cut)
{
    AUTO(buf_done) struct buf all = BUF_INIT(ALL_MOST);
    struct err err;

    if (was.ptr == NULL || would.ptr == NULL || !payload_diff_is_text(was) ||
        !payload_diff_is_text(would) || !payload_diff_compare(was, would, &all, &err))
        return false;
    struct str text = buf_view(&all);

    *ret_cut = text.len > PAYLOAD_DIFF_OUT;
    if (*ret_cut)
        text.len = first_lines(text);
    return buf_append(to, text, &err);
}
