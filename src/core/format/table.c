#include "core/format/table.h"

static bool ends_line(char c)
{
    return c == '\n' || c == '\r';
}

void table_reader_init(struct table_reader *r, const struct table_style *style, struct str text,
                       size_t start)
{
    *r = (struct table_reader){
        .style = style, .text = text, .at = start, .arena = ARENA_INIT(2 * text.len + (1 << 20))
    };
}

void table_reader_done(struct table_reader *r)
{
    arena_done(&r->arena);
}

static bool table_wrong(const struct table_reader *r, struct err *err, size_t at, const char *why)
{
    size_t line = 1;

    for (size_t i = 0; i < at && i < r->text.len; i++)
        line += r->text.ptr[i] == '\n';
    return err_set(err, ERR_PERMANENT, 0, "%s: row %zu, line %zu, byte %zu: %s",
                   r->style->fixed ? "fixed-width" : "CSV", r->number + 1, line, at + 1, why);
}

static bool table_add(struct table_reader *r, struct table_row *row, struct str cell, size_t at,
                      struct err *err)
{
    if (row->count == TABLE_CELLS_MOST) {
        (void)table_wrong(r, err, at, "a row has more than 4096 cells");
        err->kind = ERR_LIMIT;
        return false;
    }
    if (!str_is_utf8(cell))
        return table_wrong(r, err, at, "this is not UTF-8; a step `charset` before can make it so");
    row->cells[row->count++] = cell;
    return true;
}

/* ---- CSV ---- */

static struct str cell_text(struct table_reader *r, const struct csv_cell *c)
{
    size_t n = 0;

    if (!c->doubled)
        return c->raw;
    char *text = arena_alloc(&r->arena, c->raw.len);

    for (size_t i = 0; i < c->raw.len;)
        text[n++] = csv_char(c, &i);
    return str_mem(text, n);
}

static bool next_csv(struct table_reader *r, struct table_row *row, struct err *err)
{
    struct csv_reader csv = { .from = r->text.ptr,
                              .at = r->text.ptr + r->at,
                              .end = r->text.ptr + r->text.len,
                              .separator = r->style->separator };
    struct csv_cell cell = { .last = false };

    while (!cell.last) {
        if (!csv_next(&csv, &cell))
            return table_wrong(r, err, (size_t)(csv.at - csv.from), csv.why);
        if (!table_add(r, row, cell_text(r, &cell), cell.at, err))
            return false;
        row->quoted += cell.quoted;
    }
    size_t end = cell.at + cell.raw.len + (cell.quoted ? 2 : 0);
    size_t next = (size_t)(csv.at - csv.from);

    row->raw = str_mem(r->text.ptr + r->at, next - r->at);
    row->end = str_mem(r->text.ptr + end, next - end);
    r->at = next;
    return true;
}

static bool needs_quotes(const struct table_style *s, struct str cell)
{
    for (size_t i = 0; i < cell.len; i++)
        if (cell.ptr[i] == s->separator || cell.ptr[i] == '"' || ends_line(cell.ptr[i]))
            return true;
    return false;
}

static void put_csv(const struct table_style *s, struct str cell, struct outlet *to)
{
    size_t from = 0;

    if (!s->quote_all && !needs_quotes(s, cell)) {
        outlet_put(to, cell);
        return;
    }
    outlet_putc(to, '"');
    for (size_t i = 0; i < cell.len; i++)
        if (cell.ptr[i] == '"') {
            outlet_put(to, str_mem(cell.ptr + from, i + 1 - from));
            from = i;
        }
    outlet_put(to, str_from(cell, from));
    outlet_putc(to, '"');
}

/* ---- fixed width ---- */

/* The first `width` characters of a UTF-8 text, in bytes; *ret_missing: how many it lacks. */
static size_t bytes_of_width(struct str text, size_t width, size_t *ret_missing)
{
    size_t n = 0;

    for (; width > 0 && n < text.len; width--)
        for (n++; n < text.len && ((unsigned char)text.ptr[n] & 0xc0) == 0x80;)
            n++;
    *ret_missing = width;
    return n;
}

static struct str trim_right(struct str text)
{
    while (text.len > 0 && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

static bool next_fixed(struct table_reader *r, struct table_row *row, struct err *err)
{
    size_t end = r->at, next, at = r->at, missing;

    while (end < r->text.len && !ends_line(r->text.ptr[end]))
        end++;
    next = end < r->text.len ? end + 1 : end;
    if (next < r->text.len && r->text.ptr[end] == '\r' && r->text.ptr[next] == '\n')
        next++;
    for (size_t i = 0; i < r->style->column_count; i++) {
        struct str rest = str_mem(r->text.ptr + at, end - at);
        size_t n = bytes_of_width(rest, r->style->columns[i].width, &missing);

        if (!table_add(r, row, trim_right(str_mem(rest.ptr, n)), at, err))
            return false;
        at += n;
    }
    if (at < end)
        return table_wrong(r, err, at, "the row is longer than its columns together");
    row->raw = str_mem(r->text.ptr + r->at, next - r->at);
    row->end = str_mem(r->text.ptr + end, next - end);
    r->at = next;
    return true;
}

static bool put_fixed(const struct table_column *c, struct str cell, struct outlet *to,
                      struct err *err)
{
    size_t missing, n = bytes_of_width(cell, c->width, &missing);

    if (n < cell.len)
        return err_set(err, ERR_PERMANENT, 0, "`%.*s` is wider than the %zu characters of `%.*s`",
                       STR_ARG(str_first(cell, 40)), c->width, STR_ARG(str_first(c->name, 40)));
    for (size_t i = 0; i < cell.len; i++)
        if (ends_line(cell.ptr[i]))
            return err_set(err, ERR_PERMANENT, 0, "`%.*s` has a line break in it",
                           STR_ARG(str_first(c->name, 40)));
    outlet_put(to, cell);
    for (; missing > 0 && !to->over; missing--)
        outlet_putc(to, ' ');
    return true;
}

/* ---- rows ---- */

bool table_next(struct table_reader *r, struct table_row *ret, struct err *err)
{
    *err = (struct err){ 0 };
    if (r->text.len > TABLE_BYTES_MOST)
        return err_set(err, ERR_LIMIT, 0, "more than %d bytes", TABLE_BYTES_MOST);
    if (r->at >= r->text.len)
        return false;
    arena_reset(&r->arena);
    ret->count = ret->quoted = 0;
    ret->number = r->number + 1;
    if (r->style->fixed ? !next_fixed(r, ret, err) : !next_csv(r, ret, err))
        return false;
    r->number++;
    return true;
}

bool table_put(const struct table_style *style, const struct str *cells, size_t count,
               struct outlet *to, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (style->fixed) {
            if (!put_fixed(&style->columns[i], cells[i], to, err))
                return false;
            continue;
        }
        if (i > 0)
            outlet_putc(to, style->separator);
        put_csv(style, cells[i], to);
    }
    outlet_put(to, style->end);
    return true;
}
