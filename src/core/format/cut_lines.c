/* cut_lines.c - parts of so many lines, or of so many rows of CSV.
 *
 * A line ends with LF, or CR LF, which stay at it.  Lines without anything count for nothing:
 * between two lines of a part they stay where they are, else they are left out.  A byte order mark
 * belongs to the document and not to its first line.
 *
 * CSV is quoted as in RFC 4180; a quote inside of an unquoted field is an ordinary character, as in
 * extraction.  A row ends with a line that is not inside of quotes.  Each part begins with the
 * header row, its byte order mark included, as the document does.
 */
#include "core/format/cut.h"

enum { NAMES_MOST = 1 << 20 }; /* bytes of the header row */

struct rows {
    struct cut *cut;
    int64_t per;      /* lines of a part */
    int64_t from;     /* where the part begins; -1: none does */
    int64_t lines;    /* of it, so far */
    int64_t to;       /* behind its last line that is not empty */
    struct str names; /* the header row; ptr NULL: there is none */
};

static bool rows_give(struct rows *r, int64_t to)
{
    int64_t from = r->from;

    r->from = -1;
    r->lines = 0;
    return cut_slice(r->cut, from, to, r->names, 0);
}

static bool line_is_empty(struct str line)
{
    return line.len == 0 || (line.len == 1 && (line.ptr[0] == '\n' || line.ptr[0] == '\r')) ||
           (line.len == 2 && line.ptr[0] == '\r' && line.ptr[1] == '\n');
}

/* The line [from, to), with its end. */
static bool rows_take(struct rows *r, int64_t from, int64_t to)
{
    if (to - from <= 2 && line_is_empty(cut_view(r->cut, from, to)))
        return true;
    if (r->from < 0)
        r->from = from;
    r->to = to;
    return ++r->lines < r->per || rows_give(r, to);
}

static bool rows_end(struct rows *r)
{
    return r->from < 0 || rows_give(r, r->to);
}

/* ---- lines ---- */

static bool lines_run(const struct cut_rule *s, struct cut *c)
{
    struct rows r = { .cut = c, .per = s->count, .from = -1 };
    struct str piece;
    int64_t line; /* where the line begins */

    if (!cut_first(c, &piece, &line))
        return false;
    while (piece.len > 0) {
        const char *at = piece.ptr, *end = at + piece.len, *found;
        int64_t base = cut_end(c) - (int64_t)piece.len;

        while (at < end && (found = memchr(at, '\n', (size_t)(end - at))) != NULL) {
            int64_t to = base + (found - piece.ptr) + 1;

            if (!rows_take(&r, line, to))
                return false;
            line = to;
            at = found + 1;
        }
        if (!cut_next(c, r.from >= 0 ? r.from : line, &piece))
            return false;
    }
    return (line == cut_end(c) || rows_take(&r, line, cut_end(c))) && rows_end(&r);
}

const struct cutter cut_lines = { .key = "lines", .counts = true, .run = lines_run };

/* ---- CSV ---- */

enum csv_state { AT_START, IN_PLAIN, IN_QUOTES, BEHIND_QUOTE };

struct csv_pass {
    struct rows rows;
    struct buf names;
    char separator;
    enum csv_state state; /* of the field */
    int64_t row;          /* where the row begins */
};

/* The most frequent of comma, semicolon and tab in the first line, outside of quotes: as in
 * extraction.  Reads as far as is needed for it. */
static bool csv_find_separator(struct csv_pass *p)
{
    static const char separators[] = { ',', ';', '\t' };
    struct cut *c = p->rows.cut;
    size_t counts[3] = { 0 }, best = 0, at = 0;
    struct str piece = c->bytes;
    bool quoted = false, done = false;

    while (!done && piece.len > 0 && at < NAMES_MOST) {
        for (; at < c->bytes.len && !done; at++) {
            char ch = c->bytes.ptr[at];

            quoted = quoted != (ch == '"');
            done = !quoted && ch == '\n';
            for (size_t i = 0; i < 3 && !quoted; i++)
                counts[i] += ch == separators[i];
        }
        if (!done && !cut_next(c, 0, &piece))
            return false;
    }
    for (size_t i = 1; i < 3; i++)
        if (counts[i] > counts[best])
            best = i;
    p->separator = separators[best];
    return true;
}

/* The header row is kept for all parts. */
static bool csv_take_names(struct csv_pass *p, struct str row, int64_t to)
{
    const char *cr = memchr(row.ptr, '\r', row.len);
    struct err err;

    if (cr != NULL && cr + 1 < row.ptr + row.len && cr[1] != '\n' &&
        memchr(row.ptr, '"', row.len) == NULL)
        return cut_fail(p->rows.cut, DEAD_SERVICE_FAILED, to - (row.ptr + row.len - cr),
                        "rows that end with CR alone are not read");
    if (row.len > NAMES_MOST || !buf_append(&p->names, row, &err))
        return cut_fail(p->rows.cut, DEAD_LIMIT, p->row, "the header row is larger than %d bytes",
                        NAMES_MOST);
    /* A document that is only a header row has no end of line. */
    if (row.ptr[row.len - 1] != '\n')
        buf_putc(&p->names, '\n');
    p->rows.names = buf_view(&p->names);
    return true;
}

/* The row that began at p->row ends before this offset. */
static bool csv_row(struct csv_pass *p, int64_t to)
{
    struct str row = cut_view(p->rows.cut, p->row, to);
    bool ok = true;

    if (p->rows.names.ptr != NULL)
        ok = rows_take(&p->rows, p->row, to);
    else if (!line_is_empty(row))
        ok = csv_take_names(p, row, to);
    p->row = to;
    p->state = AT_START;
    return ok;
}

/* One byte that is not inside of quotes; false: it may not stand there. */
static bool csv_byte(struct csv_pass *p, char ch)
{
    if (ch == p->separator) {
        p->state = AT_START;
        return true;
    }
    if (p->state == BEHIND_QUOTE) {
        p->state = ch == '"' ? IN_QUOTES : BEHIND_QUOTE;
        return ch == '"' || ch == '\r';
    }
    p->state = ch == '"' && p->state == AT_START ? IN_QUOTES : IN_PLAIN;
    return true;
}

/* Goes through the fields of a row that has quotes; returns its end behind the LF, or NULL: it goes
 * on in the next piece, or *ret_bad is a byte that may not stand there. */
static const char *csv_fields(struct csv_pass *p, const char *at, const char *end,
                              const char **ret_bad)
{
    for (; at < end; at++) {
        if (p->state == IN_QUOTES) {
            at = memchr(at, '"', (size_t)(end - at));
            if (at == NULL)
                return NULL;
            p->state = BEHIND_QUOTE;
            continue;
        }
        if (*at == '\n')
            return at + 1;
        if (!csv_byte(p, *at)) {
            *ret_bad = at;
            return NULL;
        }
    }
    return NULL;
}

/* All rows that end in a piece. */
static bool csv_take(struct csv_pass *p, struct str piece)
{
    const char *at = piece.ptr, *end = at + piece.len, *bad = NULL;
    const char *quote = memchr(at, '"', piece.len);
    int64_t base = cut_end(p->rows.cut) - (int64_t)piece.len;

    while (at < end) {
        const char *to = memchr(at, '\n', (size_t)(end - at));

        if (quote != NULL && quote < at)
            quote = memchr(at, '"', (size_t)(end - at));
        bool plain = p->state < IN_QUOTES && (quote == NULL || (to != NULL && quote > to));

        if (!plain) {
            to = csv_fields(p, at, end, &bad);
            if (bad != NULL)
                return cut_fail(p->rows.cut, DEAD_SERVICE_FAILED, base + (bad - piece.ptr),
                                "something stands behind a closing quote");
        } else if (to != NULL) {
            to++;
        } else { /* the last field may begin with a quote in the next piece */
            p->state = end[-1] == p->separator ? AT_START : IN_PLAIN;
        }
        if (to == NULL)
            return true;
        if (!csv_row(p, base + (to - piece.ptr)))
            return false;
        at = to;
    }
    return true;
}

static bool csv_all(struct csv_pass *p, struct str piece)
{
    struct cut *c = p->rows.cut;

    while (piece.len > 0)
        if (!csv_take(p, piece) || !cut_next(c, p->rows.from >= 0 ? p->rows.from : p->row, &piece))
            return false;
    if (p->state == IN_QUOTES)
        return cut_fail(c, DEAD_SERVICE_FAILED, cut_end(c), "a quote is not closed");
    return (p->row == cut_end(c) || csv_row(p, cut_end(c))) && rows_end(&p->rows);
}

static bool csv_run(const struct cut_rule *s, struct cut *c)
{
    struct csv_pass p = { .rows = { .cut = c, .per = s->count, .from = -1 },
                          .names = BUF_INIT(NAMES_MOST + 1) };
    struct str piece;
    int64_t mark; /* stays in the header row */
    bool ok = cut_first(c, &piece, &mark) && csv_find_separator(&p) &&
              csv_all(&p, str_from(c->bytes, (size_t)mark));

    buf_done(&p.names);
    return ok;
}

const struct cutter cut_csv = { .key = "csv", .counts = true, .run = csv_run };
