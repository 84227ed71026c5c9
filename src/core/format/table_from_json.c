/* table_from_json.c - the way back of table_json.h.
 *
 * Three scanners go over one text: the first reads what stands beside the rows, the second the
 * rows, and the third follows in `written`, whose entries are in the order of the rows.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "core/format/table_json.h"
#include "core/json_scan.h"

enum { STEPS_MOST = 200000000 };

struct from_table {
    const struct table_rule *rule;
    struct table_style style;
    struct str json;
    struct json_scan scan, written;
    bool has_written;
    size_t written_row; /* 0: none is left */
    struct buf written_text, text;
    struct outlet out;
    struct arena kept;  /* names and what stands beside the rows */
    struct arena cells; /* of one row */
    struct table_column columns[TABLE_CELLS_MOST];
    size_t column_count;
    size_t order[TABLE_CELLS_MOST]; /* of the keys in the row before: where to look first */
    size_t steps;                   /* columns looked at by name */
    bool named, is_list;            /* the columns are known; the root is the list of rows */
    struct str values[TABLE_CELLS_MOST];
    bool given[TABLE_CELLS_MOST];
    size_t count, number; /* of the row */
    struct table_row row; /* one of `written` */
    struct err *err;
};

static bool table_back_wrong(struct from_table *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool table_back_wrong(struct from_table *f, const char *format, ...)
{
    char why[160];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(why, sizeof why, format, ap);
    va_end(ap);
    if (f->number > 0)
        return err_set(f->err, ERR_PERMANENT, 0, "JSON: row %zu, byte %lld: %s", f->number,
                       (long long)json_scan_at(&f->scan), why);
    return err_set(f->err, ERR_PERMANENT, 0, "JSON: byte %lld: %s",
                   (long long)json_scan_at(&f->scan), why);
}

static bool table_back_next(struct from_table *f, enum json_event *ret)
{
    *ret = json_scan_next(&f->scan);
    return *ret != JSON_WRONG || table_back_wrong(f, "%s", f->scan.why);
}

/* The text of a token without its escapes; half of a pair of surrogates is a failure. */
static bool table_token_text(struct from_table *f, const struct json_scan *s, struct arena *a,
                             struct str *ret)
{
    char *text;
    size_t n = 0;

    *ret = s->text;
    if (!s->escapes)
        return true;
    text = arena_alloc(a, s->text.len + 4);
    for (size_t i = 0; i < s->text.len;) {
        size_t len = 1;

        if (s->text.ptr[i] == '\\')
            len = json_scan_unescape(s->text, &i, text + n);
        else
            text[n] = s->text.ptr[i++];
        if (len == 0)
            return table_back_wrong(f, "half of a pair of surrogates");
        n += len;
    }
    *ret = str_mem(text, n);
    return true;
}

/* ---- beside the rows ---- */

static bool add_column(struct from_table *f, struct str name)
{
    if (f->column_count == TABLE_CELLS_MOST)
        return table_back_wrong(f, "more than %d columns", TABLE_CELLS_MOST);
    f->columns[f->column_count++].name = name;
    return true;
}

enum table_key { KEY_FORMAT, KEY_SEPARATOR, KEY_QUOTES, KEY_END, KEY_START, KEYS };

static enum table_key key_of(struct str key)
{
    static const char *const keys[KEYS] = { "format", "separator", "quotes", "end", "start" };
    enum table_key k = 0;

    while (k < KEYS && !str_is(key, keys[k]))
        k++;
    return k;
}

static bool table_key(struct from_table *f, enum table_key key, struct str value)
{
    const char *format = f->rule->fixed ? "fixed" : "csv";

    switch (key) {
    case KEY_FORMAT:
        return str_is(value, format) || table_back_wrong(f, "its format is `%.*s`, not %s",
                                                         STR_ARG(str_first(value, 20)), format);
    case KEY_SEPARATOR:
        if (value.len != 1 || strchr("\"\r\n", value.ptr[0]) != NULL)
            return table_back_wrong(f, "`separator` is one byte, no quote and no line break");
        f->style.separator = value.ptr[0];
        return true;
    case KEY_QUOTES:
        f->style.quote_all = str_is(value, "all");
        return true;
    case KEY_END:
        f->style.end = value;
        return str_is(value, "\n") || str_is(value, "\r") || str_is(value, "\r\n") ||
               table_back_wrong(f, "`end` is a line break");
    case KEY_START:
        outlet_put(&f->out, value);
        return true;
    case KEYS:
        break;
    }
    return true;
}

/* A text beside the rows: the value of a key, or the name of a column. */
static bool text_beside(struct from_table *f, struct str key, unsigned *seen)
{
    bool column = f->scan.depth == 2 && str_is(key, "columns") && !f->rule->fixed;
    enum table_key k = f->scan.depth == 1 ? key_of(key) : KEYS;
    struct str text;

    if (!column && k == KEYS)
        return true;
    if (!column && (*seen & 1U << k) != 0)
        return table_back_wrong(f, "`%.*s` stands twice", STR_ARG(key));
    *seen |= column ? 0 : 1U << k;
    return table_token_text(f, &f->scan, &f->kept, &text) &&
           (column ? add_column(f, text) : table_key(f, k, text));
}

static bool read_table_beside(struct from_table *f)
{
    struct str key = { 0 };
    enum json_event e;
    unsigned seen = 0;

    json_scan_give(&f->scan, f->json, true);
    if (!table_back_next(f, &e))
        return false;
    f->is_list = e == JSON_OPEN && !json_scan_in_object(&f->scan);
    if (e != JSON_OPEN)
        return table_back_wrong(f, "a list of rows, or an object with one, is expected");
    while (table_back_next(f, &e) && e != JSON_END) {
        if (e == JSON_KEY && f->scan.depth == 1)
            key = f->scan.text;
        else if (e == JSON_TEXT && !f->is_list && !text_beside(f, key, &seen))
            return false;
    }
    f->named = f->named || f->column_count > 0;
    return e == JSON_END;
}

/* Goes to the list of that name, or to the root if that is the list of rows. */
static bool find_list(struct from_table *f, struct json_scan *s, const char *name)
{
    enum json_event e;
    bool found = f->is_list;

    *s = (struct json_scan){ 0 };
    json_scan_give(s, f->json, true);
    while ((e = json_scan_next(s)) > JSON_END) {
        if (found)
            return e == JSON_OPEN && !json_scan_in_object(s);
        found = e == JSON_KEY && s->depth == 1 && str_is(s->text, name);
    }
    return false;
}

/* ---- rows that are written in another way ---- */

/* The next entry: [3, "text"]. */
static bool next_written(struct from_table *f)
{
    struct json_scan *s = &f->written;
    uint64_t row = 0;
    struct str text = { 0 };
    bool ok;

    f->written_row = 0;
    if (json_scan_next(s) != JSON_OPEN)
        return true;
    ok = json_scan_next(s) == JSON_SCALAR && str_to_u64(s->text, &row) && row > 0 &&
         json_scan_next(s) == JSON_TEXT && table_token_text(f, s, &f->cells, &text);
    if (ok) {
        buf_clear(&f->written_text);
        buf_put(&f->written_text, text);
        ok = json_scan_next(s) == JSON_CLOSE;
    }
    f->written_row = (size_t)row;
    return ok || err_set(f->err, ERR_PERMANENT, 0,
                         "JSON: byte %lld: an entry of `written` is [number of the row, text]",
                         (long long)json_scan_at(s));
}

/* The text of `written` for this row has the same values. */
static bool still_same(struct from_table *f, const struct str *cells, size_t count, bool exact)
{
    struct table_reader r;
    struct err err;
    bool same;

    table_reader_init(&r, &f->style, buf_view(&f->written_text), 0);
    same = table_next(&r, &f->row, &err) && r.at == f->written_text.len &&
           (exact ? f->row.count == count : f->row.count <= count);
    for (size_t i = 0; same && i < count; i++)
        same = str_eq(cells[i], i < f->row.count ? f->row.cells[i] : STR(""));
    table_reader_done(&r);
    return same;
}

/* Writes one row; `exact`: with so many cells, not fewer. */
static bool write_row(struct from_table *f, const struct str *cells, size_t count, bool exact)
{
    struct str before = outlet_view(&f->out);
    struct err err;

    f->number++;
    if (f->number > 1 && before.len > 0 && before.ptr[before.len - 1] != '\r' &&
        before.ptr[before.len - 1] != '\n')
        outlet_put(&f->out, f->style.end); /* the row before was the last one once */
    while (f->written_row > 0 && f->written_row < f->number)
        if (!next_written(f))
            return false;
    if (f->written_row == f->number && still_same(f, cells, count, exact))
        outlet_put(&f->out, buf_view(&f->written_text));
    else if (!table_put(&f->style, cells, count, &f->out, &err))
        return table_back_wrong(f, "%s", err.text);
    return true;
}

/* ---- rows ---- */

static bool cell_value(struct from_table *f, enum json_event e, struct str *ret)
{
    if (e == JSON_SCALAR) {
        *ret = str_is(f->scan.text, "null") ? STR("") : f->scan.text;
        return true;
    }
    if (e != JSON_TEXT)
        return table_back_wrong(f, "a cell is a text or a number");
    return table_token_text(f, &f->scan, &f->cells, ret);
}

/* The column of the n-th key of a row; most rows have their keys in the same order. */
static bool find_column(struct from_table *f, struct str name, size_t n, size_t *ret)
{
    size_t at = n < f->column_count ? f->order[n] : 0;

    if (at >= f->column_count || !str_eq(f->columns[at].name, name))
        for (at = 0; at < f->column_count && !str_eq(f->columns[at].name, name); at++)
            f->steps += 1 + (f->columns[at].name.len == name.len ? name.len / 16 : 0);
    if (f->steps > STEPS_MOST)
        return table_back_wrong(f, "too many rows have their keys in another order");
    if (at == f->column_count && f->named)
        return table_back_wrong(f, "`%.*s` is not among the columns", STR_ARG(str_first(name, 60)));
    if (at == f->column_count && !add_column(f, arena_copy(&f->kept, name)))
        return false;
    if (n < TABLE_CELLS_MOST)
        f->order[n] = at;
    *ret = at;
    return true;
}

static void end_object(struct from_table *f)
{
    f->named = true;
    f->count = f->column_count;
    for (size_t i = 0; i < f->count; i++)
        if (!f->given[i])
            f->values[i] = STR("");
}

static bool read_row_object(struct from_table *f)
{
    enum json_event e;
    size_t at = 0;
    struct str name;

    memset(f->given, 0, f->column_count * sizeof f->given[0]);
    for (size_t n = 0; table_back_next(f, &e); n++) {
        if (e == JSON_CLOSE) {
            end_object(f);
            return true;
        }
        if (!table_token_text(f, &f->scan, &f->cells, &name) || !find_column(f, name, n, &at))
            return false;
        if (f->given[at])
            return table_back_wrong(f, "`%.*s` stands twice in the row",
                                    STR_ARG(str_first(name, 60)));
        f->given[at] = true;
        if (!table_back_next(f, &e) || !cell_value(f, e, &f->values[at]))
            return false;
    }
    return false;
}

static bool read_row_list(struct from_table *f)
{
    enum json_event e;

    f->count = 0;
    while (table_back_next(f, &e)) {
        if (e == JSON_CLOSE) {
            for (; f->rule->fixed && f->count < f->column_count; f->count++)
                f->values[f->count] = STR("");
            return true;
        }
        if (f->count == TABLE_CELLS_MOST || (f->rule->fixed && f->count == f->column_count))
            return table_back_wrong(f, "too many cells");
        if (!cell_value(f, e, &f->values[f->count++]))
            return false;
    }
    return false;
}

static bool write_column_names(struct from_table *f)
{
    struct str *names = ARENA_ARRAY(&f->kept, struct str, f->column_count + 1);

    for (size_t i = 0; i < f->column_count; i++)
        names[i] = f->columns[i].name;
    return write_row(f, names, f->column_count, true);
}

static bool write_rows(struct from_table *f)
{
    bool names = !f->rule->fixed && f->rule->header;
    enum json_event e;

    if (names && f->named) {
        if (!write_column_names(f))
            return false;
        names = false;
    }
    while (!f->out.over && table_back_next(f, &e)) {
        if (e == JSON_CLOSE)
            return true;
        bool object = e == JSON_OPEN && json_scan_in_object(&f->scan);

        arena_reset(&f->cells);
        if (e != JSON_OPEN)
            return table_back_wrong(f, "a row is an object or a list");
        if (object ? !read_row_object(f) : !read_row_list(f))
            return false;
        if (names && object && !write_column_names(f))
            return false;
        names = false;
        if (!write_row(f, f->values, f->count, !object && !f->rule->fixed))
            return false;
    }
    return f->out.over;
}

static bool table_back(struct from_table *f)
{
    if (!read_table_beside(f))
        return false;
    if (!f->is_list && find_list(f, &f->written, "written"))
        if (!next_written(f))
            return false;
    if (!find_list(f, &f->scan, "rows"))
        return err_set(f->err, ERR_PERMANENT, 0, "JSON: the list `rows` is missing");
    return write_rows(f);
}

bool table_from_json(const struct table_rule *rule, struct str json, size_t most, struct buf *to,
                     struct err *err)
{
    struct from_table *f = NEW(struct from_table);

    f->rule = rule;
    f->json = json;
    f->err = err;
    f->kept = (struct arena)ARENA_INIT(3 * json.len + (1 << 20));
    f->cells = (struct arena)ARENA_INIT(24 * json.len + (1 << 20));
    f->written_text = (struct buf)BUF_INIT(json.len);
    f->style = (struct table_style){ .fixed = rule->fixed,
                                     .separator = rule->separator != '\0' ? rule->separator : ',',
                                     .end = STR("\n"),
                                     .columns = rule->columns,
                                     .column_count = rule->column_count };
    for (size_t i = 0; rule->fixed && i < rule->column_count; i++)
        f->columns[f->column_count++] = rule->columns[i];
    f->named = rule->fixed;
    outlet_init(&f->out, to, most);
    bool ok = table_back(f);

    ok = outlet_end(&f->out, ok, err);
    buf_done(&f->written_text);
    arena_done(&f->kept);
    arena_done(&f->cells);
    free(f);
    return ok;
}
