#include "core/format/cut.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"

/* ---- bytes ---- */

enum { BLOCK = 256 << 10 }; /* given to a cutter at a time, however large the pieces are */

int64_t cut_end(const struct cut *c)
{
    return c->base + (int64_t)c->bytes.len;
}

struct str cut_view(const struct cut *c, int64_t from, int64_t to)
{
    require(from >= c->base && from <= to && to <= cut_end(c));
    if (from == to)
        return STR("");
    return str_mem(c->bytes.ptr + (from - c->base), (size_t)(to - from));
}

/* Moves what is kept to the start of the window.  It is the beginning of one part, so each byte of
 * a document is moved once or twice. */
static void keep_window(struct cut *c, struct str kept)
{
    struct err err;

    if (kept.len > 0 && kept.ptr >= c->window.ptr && kept.ptr < c->window.ptr + c->window.len) {
        memmove(c->window.ptr, kept.ptr, kept.len);
        c->window.ptr[kept.len] = '\0';
        c->window.len = kept.len;
        return;
    }
    buf_clear(&c->window);
    bool fits = buf_append(&c->window, kept, &err);

    require(fits);
}

bool cut_next(struct cut *c, int64_t keep, struct str *ret)
{
    struct str kept = cut_view(c, keep, cut_end(c));

    if (kept.len > CUT_PART_MOST)
        return cut_fail(c, DEAD_LIMIT, keep, "a part is larger than %d bytes", CUT_PART_MOST);
    keep_window(c, kept);
    c->base = keep;
    if (c->piece.len == 0 && !c->io->next(c->io, &c->piece, c->failure))
        return false;
    *ret = str_mem(c->piece.ptr, c->piece.len < BLOCK ? c->piece.len : BLOCK);
    c->piece = str_from(c->piece, ret->len);
    if (kept.len == 0) {
        c->bytes = *ret;
        return true;
    }
    buf_put(&c->window, *ret);
    c->bytes = buf_view(&c->window);
    *ret = str_from(c->bytes, kept.len);
    return true;
}

/* ---- failures ---- */

/* The line of an offset is counted when somebody wants to know it, from the beginning. */
static bool find_line(struct cut *c, int64_t at, int64_t *ret)
{
    struct str piece;

    *ret = 1;
    if (!c->io->rewind(c->io, c->failure))
        return false;
    for (int64_t read = 0; read < at; read += (int64_t)piece.len) {
        if (!c->io->next(c->io, &piece, c->failure))
            return false;
        if (piece.len == 0)
            break;
        for (size_t i = 0; i < piece.len && read + (int64_t)i < at; i++)
            *ret += piece.ptr[i] == '\n';
    }
    return true;
}

bool cut_fail(struct cut *c, enum dead_code code, int64_t at, const char *format, ...)
{
    char what[VERDICT_MESSAGE_MOST / 2];
    int64_t line;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (!find_line(c, at, &line))
        return false;
    return service_fail(c->failure, code, "split: %s, at byte %lld, line %lld", what,
                        (long long)at + 1, (long long)line);
}

bool cut_first(struct cut *c, struct str *ret, int64_t *ret_at)
{
    struct str more;

    do {
        if (!cut_next(c, 0, &more))
            return false;
    } while (more.len > 0 && c->bytes.len < 4);
    if (str_starts(c->bytes, STR("\xff\xfe")) || str_starts(c->bytes, STR("\xfe\xff")))
        return cut_fail(c, DEAD_SERVICE_FAILED, 0,
                        "this is UTF-16; put `charset: UTF-16` before it");
    *ret_at = str_starts(c->bytes, STR("\xef\xbb\xbf")) ? 3 : 0;
    *ret = str_from(c->bytes, (size_t)*ret_at);
    return true;
}

/* ---- parts ---- */

static struct str join_slices(struct cut *c, const struct str *slices, size_t count)
{
    if (count == 1)
        return slices[0];
    buf_clear(&c->joined);
    for (size_t i = 0; i < count; i++)
        buf_put(&c->joined, slices[i]);
    return buf_view(&c->joined);
}

static bool count_part(struct cut *c, size_t size, int64_t at)
{
    int64_t free = c->io->size > CUT_FREE / CUT_RATIO ? CUT_RATIO * c->io->size : CUT_FREE;

    if (size > CUT_PART_MOST)
        return cut_fail(c, DEAD_LIMIT, at, "a part is larger than %d bytes", CUT_PART_MOST);
    if (++c->parts > c->rule->most)
        return cut_fail(c, DEAD_LIMIT, at, "there are more than %lld parts; `most` allows more",
                        (long long)c->rule->most);
    c->out += (int64_t)size;
    if (c->out > free && c->io->size >= 0)
        return cut_fail(c, DEAD_LIMIT, at,
                        "the parts together are more than %d times as large as the document",
                        CUT_RATIO);
    return true;
}

static bool give_part(struct cut *c, const struct service_part *head, const struct str *slices,
                      size_t count)
{
    if (!c->io->part(c->io, head, c->failure))
        return false;
    for (size_t i = 0; i < count; i++)
        if (slices[i].len > 0 && !c->io->put(c->io, slices[i], c->failure))
            return false;
    return true;
}

bool cut_part(struct cut *c, struct str name, const struct str *slices, size_t count, int64_t at)
{
    struct service_part head = { .name = name, .parts = c->total };
    struct service_failure bad;
    bool all = c->rule->bad_all;
    size_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += slices[i].len;
    if (!count_part(c, size, at))
        return false;
    if (!c->gives && (!all || c->io->describe == NULL))
        return true;
    if (c->io->describe != NULL &&
        !c->io->describe(c->io, join_slices(c, slices, count), &head, &bad)) {
        if (all)
            return cut_fail(c, bad.code, at, "part %lld: %s", (long long)c->parts, bad.message);
        head.failure = &bad;
    }
    return !c->gives || give_part(c, &head, slices, count);
}

/* ---- marks ---- */

enum { TEXT_MOST = 1 << 20, ROOM_FIRST = 64 };

/* A part of the document, and where in it the text stands. */
struct mark {
    int64_t from;
    uint32_t size, at;
};

/* All parts of a document, if they fit. */
struct cut_marks {
    struct mark *list;
    size_t count, room;
    struct buf text;
};

static void marks_done(struct cut_marks *m)
{
    free(m->list);
    buf_done(&m->text);
}

/* A part with another text than the first one is not marked; then the marks are not all. */
static void mark_add(struct cut_marks *m, int64_t from, size_t size, struct str text, size_t at)
{
    if (m->count == CUT_MARKS_MOST || text.len > TEXT_MOST)
        return;
    if (m->count == 0)
        buf_put(&m->text, text);
    if (!str_eq(buf_view(&m->text), text))
        return;
    if (m->count == m->room) {
        m->room = m->room == 0 ? ROOM_FIRST : 2 * m->room;
        m->list = xrealloc(m->list, m->room * sizeof *m->list);
    }
    m->list[m->count++] = (struct mark){ from, (uint32_t)size, (uint32_t)at };
}

bool cut_slice(struct cut *c, int64_t from, int64_t to, struct str text, size_t at)
{
    struct str bytes = cut_view(c, from, to);
    struct str slices[] = { str_first(bytes, at), text, str_from(bytes, at) };

    if (!c->gives && bytes.len <= CUT_PART_MOST)
        mark_add(c->marks, from, bytes.len, text, at);
    return text.len == 0 ? cut_part(c, (struct str){ 0 }, &bytes, 1, from)
                         : cut_part(c, (struct str){ 0 }, slices, 3, from);
}

/* Reads on until the bytes [from, to) are there. */
static bool read_to(struct cut *c, int64_t from, int64_t to)
{
    struct str more;

    while (cut_end(c) < to) {
        if (!cut_next(c, from < cut_end(c) ? from : cut_end(c), &more))
            return false;
        if (more.len == 0)
            return cut_fail(c, DEAD_SERVICE_FAILED, cut_end(c), "it has become shorter");
    }
    return true;
}

/* The second pass over a document whose parts are all marked.  It reads what is behind them as
 * well, because at the end the bytes are compared with their digest. */
static bool cut_marked(struct cut *c)
{
    const struct cut_marks *m = c->marks;
    struct str more;

    for (size_t i = 0; i < m->count; i++) {
        int64_t from = m->list[i].from, to = from + (int64_t)m->list[i].size;

        if (!read_to(c, from, to) || !cut_slice(c, from, to, buf_view(&m->text), m->list[i].at))
            return false;
    }
    do {
        if (!cut_next(c, cut_end(c), &more))
            return false;
    } while (more.len > 0);
    return true;
}

/* ---- passes ---- */

static void cut_done(struct cut *c)
{
    buf_done(&c->window);
    buf_done(&c->joined);
}

/* *io_total: how many parts there are; 0 in the first pass, which finds it. */
static bool cut_pass(const struct cut_rule *rule, struct service_io *io, struct cut_marks *marks,
                     struct service_failure *ret_failure, int64_t *io_total)
{
    AUTO(cut_done)
    struct cut c = {
        .rule = rule,
        .io = io,
        .failure = ret_failure,
        .gives = *io_total > 0,
        .total = *io_total,
        .marks = marks,
        .window = BUF_INIT((size_t)CUT_PART_MOST + BLOCK + BLOCK),
        .joined = BUF_INIT((size_t)CUT_PART_MOST + 1),
    };

    bool marked = c.gives && (int64_t)marks->count == c.total;

    if (marked ? !cut_marked(&c) : !rule->cutter->run(rule, &c))
        return false;
    *io_total = c.parts;
    return true;
}

bool cut_run(const struct cut_rule *rule, struct service_io *io,
             struct service_failure *ret_failure)
{
    AUTO(marks_done) struct cut_marks marks = { .text = BUF_INIT(TEXT_MOST) };
    int64_t total = 0;

    if (!cut_pass(rule, io, &marks, ret_failure, &total))
        return false;
    if (total == 0)
        return io->none(io, ret_failure);
    return io->rewind(io, ret_failure) && cut_pass(rule, io, &marks, ret_failure, &total);
}
