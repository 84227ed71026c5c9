#include "admin/view/diff.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"

enum { CONTEXT = 3 };

struct lines {
    struct str *line;
    size_t count;
};

/* One line of the result: kept, removed from the old text, or added by the new one. */
struct edit {
    char mark; /* ' ', '-', '+' */
    struct str line;
};

static struct lines diff_split(struct str text)
{
    struct lines l = { .line = xmalloc(sizeof *l.line * (DIFF_LINES + 1)) };

    while (text.len > 0 && l.count < DIFF_LINES) {
        struct str rest = str_cut(text, '\n', &l.line[l.count]);

        if (l.count == DIFF_LINES - 1) /* the rest of the text counts as one line */
            l.line[l.count] = text, rest.len = 0;
        l.count++;
        text = rest;
    }
    return l;
}

/* t[i * (m + 1) + j]: the length of the longest common subsequence of old[i..] and new[j..]. */
static unsigned *lcs_table(const struct str *old, size_t n, const struct str *new, size_t m)
{
    unsigned *t;

    if (n == 0 || m == 0 || (n + 1) * (m + 1) > DIFF_TABLE)
        return NULL;
    t = xcalloc((n + 1) * (m + 1), sizeof *t);
    for (size_t i = n; i-- > 0;)
        for (size_t j = m; j-- > 0;) {
            unsigned down = t[(i + 1) * (m + 1) + j], right = t[i * (m + 1) + j + 1];

            t[i * (m + 1) + j] = str_eq(old[i], new[j]) ? t[(i + 1) * (m + 1) + j + 1] + 1
                                 : down > right         ? down
                                                        : right;
        }
    return t;
}

static size_t middle(const struct str *old, size_t n, const struct str *new, size_t m,
                     struct edit *to)
{
    unsigned *t = lcs_table(old, n, new, m);
    size_t i = 0, j = 0, k = 0;

    while (i < n || j < m) {
        if (t != NULL && i < n && j < m && str_eq(old[i], new[j])) {
            to[k++] = (struct edit){ ' ', old[i++] };
            j++;
        } else if (i < n &&
                   (j == m || t == NULL || t[(i + 1) * (m + 1) + j] >= t[i * (m + 1) + j + 1])) {
            to[k++] = (struct edit){ '-', old[i++] };
        } else {
            to[k++] = (struct edit){ '+', new[j++] };
        }
    }
    free(t);
    return k;
}

static size_t edits_of(struct lines a, struct lines b, struct edit *to)
{
    size_t head = 0, tail = 0, k = 0;

    while (head < a.count && head < b.count && str_eq(a.line[head], b.line[head]))
        head++;
    while (tail < a.count - head && tail < b.count - head &&
           str_eq(a.line[a.count - 1 - tail], b.line[b.count - 1 - tail]))
        tail++;
    for (size_t i = 0; i < head; i++)
        to[k++] = (struct edit){ ' ', a.line[i] };
    k += middle(a.line + head, a.count - head - tail, b.line + head, b.count - head - tail, to + k);
    for (size_t i = a.count - tail; i < a.count; i++)
        to[k++] = (struct edit){ ' ', a.line[i] };
    return k;
}

/* A hunk ends before a run of kept lines that is longer than two contexts. */
static size_t hunk_end(const struct edit *e, size_t from, size_t count)
{
    size_t last = from;

    for (size_t i = from; i < count && i <= last + 2 * CONTEXT; i++)
        if (e[i].mark != ' ')
            last = i;
    return last + CONTEXT + 1 < count ? last + CONTEXT + 1 : count;
}

static bool put_hunk(const struct edit *e, size_t from, size_t to, size_t old_at, size_t new_at,
                     struct buf *out, struct err *err)
{
    size_t olds = 0, news = 0, bytes = 80;

    for (size_t i = from; i < to; i++) {
        olds += e[i].mark != '+';
        news += e[i].mark != '-';
        bytes += e[i].line.len + 2;
    }
    if (!buf_reserve(out, bytes, err))
        return false;
    buf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", old_at, olds, new_at, news);
    for (size_t i = from; i < to; i++) {
        buf_putc(out, e[i].mark);
        buf_put(out, e[i].line);
        buf_putc(out, '\n');
    }
    return true;
}

static bool put_hunks(const struct edit *e, size_t count, struct buf *out, struct err *err)
{
    size_t old_at = 1, new_at = 1;

    for (size_t i = 0; i < count;) {
        size_t change = i;

        while (change < count && e[change].mark == ' ')
            change++;
        if (change == count)
            return true;
        size_t from = change > i + CONTEXT ? change - CONTEXT : i;
        size_t to = hunk_end(e, change, count);

        old_at += from - i;
        new_at += from - i;
        if (!put_hunk(e, from, to, old_at, new_at, out, err))
            return false;
        for (; from < to; from++) {
            old_at += e[from].mark != '+';
            new_at += e[from].mark != '-';
        }
        i = to;
    }
    return true;
}

bool diff_text(struct str old, struct str new, const char *old_name, const char *new_name,
               struct buf *out, struct err *err)
{
    if (str_eq(old, new))
        return true;
    struct lines a = diff_split(old), b = diff_split(new);
    struct edit *edits = xmalloc(sizeof *edits * (a.count + b.count + 1));
    size_t count = edits_of(a, b, edits);
    bool ok = buf_reserve(out, strlen(old_name) + strlen(new_name) + 20, err);

    if (ok) {
        buf_printf(out, "--- %s\n+++ %s\n", old_name, new_name);
        ok = put_hunks(edits, count, out, err);
    }
    free(edits);
    free(a.line);
    free(b.line);
    return ok;
}
