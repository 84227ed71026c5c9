#include "core/format/table_json.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

struct to_table {
    const struct table_rule *rule;
    struct table_style style;
    struct str text;
    size_t start;
    struct outlet out;
    struct arena names;           /* of the columns */
    struct table_column *columns; /* NULL: there is no line of names */
    size_t column_count;
    struct buf scratch;    /* a row as the style writes it */
    struct table_row *row; /* large: on the heap */
    struct err *err;
};

/* ---- style ---- */

/* Quotes around more than half of the cells are the rule; the first row says how rows end. */
static bool find_style(struct to_table *t)
{
    struct table_reader r;
    size_t quoted = 0, cells = 0;

    table_reader_init(&r, &t->style, t->text, t->start);
    while (table_next(&r, t->row, t->err)) {
        if (t->row->number == 1 && t->row->end.len > 0)
            t->style.end = t->row->end;
        quoted += t->row->quoted;
        cells += t->row->count;
    }
    t->style.quote_all = quoted > cells / 2;
    table_reader_done(&r);
    return t->err->kind == ERR_NONE;
}

static bool check_names_of_columns(struct to_table *t)
{
    for (size_t i = 0; i < t->column_count; i++) {
        struct str name = t->columns[i].name;

        if (name.len == 0)
            return err_set(
                t->err, ERR_PERMANENT, 0,
                "CSV: row 1: column %zu has no name; with `header: false` rows are lists", i + 1);
        for (size_t k = 0; k < i; k++)
            if (str_eq(t->columns[k].name, name))
                return err_set(t->err, ERR_PERMANENT, 0,
                               "CSV: row 1: columns %zu and %zu are both `%.*s`; with `header: "
                               "false` rows are lists",
                               k + 1, i + 1, STR_ARG(str_first(name, 60)));
    }
    return true;
}

static bool keep_names(struct to_table *t)
{
    t->column_count = t->row->count;
    t->columns = ARENA_ARRAY(&t->names, struct table_column, t->row->count + 1);
    for (size_t i = 0; i < t->row->count; i++)
        t->columns[i].name = arena_copy(&t->names, t->row->cells[i]);
    return check_names_of_columns(t);
}

/* ---- writing ---- */

static void put_named(struct outlet *o, const char *key, struct str value)
{
    outlet_puts(o, ",\"");
    outlet_puts(o, key);
    outlet_puts(o, "\":");
    outlet_json(o, value);
}

static void put_table_head(struct to_table *t)
{
    outlet_puts(&t->out, t->rule->fixed ? "{\"format\":\"fixed\"" : "{\"format\":\"csv\"");
    if (!t->rule->fixed) {
        put_named(&t->out, "separator", str_mem(&t->style.separator, 1));
        put_named(&t->out, "quotes", t->style.quote_all ? STR("all") : STR("needed"));
    }
    put_named(&t->out, "end", t->style.end);
    if (t->start > 0)
        put_named(&t->out, "start", str_mem(t->text.ptr, t->start));
}

static void put_columns(struct to_table *t)
{
    outlet_puts(&t->out, ",\"columns\":[");
    for (size_t i = 0; i < t->column_count; i++) {
        if (i > 0)
            outlet_putc(&t->out, ',');
        outlet_json(&t->out, t->columns[i].name);
    }
    outlet_putc(&t->out, ']');
}

static bool put_table_row(struct to_table *t, bool first)
{
    const struct table_row *row = t->row;
    bool named = t->column_count > 0;

    if (named && row->count > t->column_count)
        return err_set(t->err, ERR_PERMANENT, 0,
                       "CSV: row %zu has %zu cells, but there are %zu names", row->number,
                       row->count, t->column_count);
    outlet_puts(&t->out, first ? "\n" : ",\n");
    outlet_putc(&t->out, named ? '{' : '[');
    for (size_t i = 0; i < row->count; i++) {
        if (i > 0)
            outlet_putc(&t->out, ',');
        if (named) {
            outlet_json(&t->out, t->columns[i].name);
            outlet_putc(&t->out, ':');
        }
        outlet_json(&t->out, row->cells[i]);
    }
    outlet_putc(&t->out, named ? '}' : ']');
    return true;
}

static bool put_rows(struct to_table *t)
{
    struct table_reader r;
    bool first = true, ok = true;

    table_reader_init(&r, &t->style, t->text, t->start);
    if (!t->rule->fixed && t->rule->header && table_next(&r, t->row, t->err)) {
        ok = keep_names(t);
        put_columns(t);
    }
    outlet_puts(&t->out, ",\"rows\":[");
    for (; ok && !t->out.over && table_next(&r, t->row, t->err); first = false)
        ok = put_table_row(t, first);
    outlet_puts(&t->out, "\n]");
    table_reader_done(&r);
    return ok && t->err->kind == ERR_NONE;
}

/* The row, as the way back will write it, is not what stands there. */
static bool is_irregular(struct to_table *t)
{
    struct table_row *row = t->row;
    struct outlet o;
    struct err err;

    while (row->count < t->column_count)
        row->cells[row->count++] = STR("");
    buf_clear(&t->scratch);
    outlet_init(&o, &t->scratch, row->raw.len);
    return !table_put(&t->style, row->cells, row->count, &o, &err) || o.over ||
           !str_eq(buf_view(&t->scratch), row->raw);
}

static void put_written(struct to_table *t)
{
    struct table_reader r;
    bool first = true;

    table_reader_init(&r, &t->style, t->text, t->start);
    while (!t->out.over && table_next(&r, t->row, t->err)) {
        if (!is_irregular(t))
            continue;
        outlet_puts(&t->out, first ? ",\"written\":[\n[" : ",\n[");
        char digits[24];

        (void)snprintf(digits, sizeof digits, "%zu,", t->row->number);
        outlet_puts(&t->out, digits);
        outlet_json(&t->out, t->row->raw);
        outlet_putc(&t->out, ']');
        first = false;
    }
    if (!first)
        outlet_puts(&t->out, "]");
    table_reader_done(&r);
}

bool table_to_json(const struct table_rule *rule, struct str text, size_t most, struct buf *to,
                   struct err *err)
{
    struct to_table t = { .rule = rule,
                          .text = text,
                          .err = err,
                          .names = ARENA_INIT(2 * text.len + (1 << 20)),
                          .scratch = BUF_INIT(text.len + 1) };
    struct csv_reader csv;

    *err = (struct err){ 0 };
    t.style = (struct table_style){ .fixed = rule->fixed,
                                    .end = STR("\n"),
                                    .columns = rule->columns,
                                    .column_count = rule->column_count };
    csv_init(&csv, text, rule->separator);
    t.style.separator = csv.separator;
    t.start = (size_t)(csv.at - csv.from);
    t.row = NEW(struct table_row);
    outlet_init(&t.out, to, most);
    bool ok = find_style(&t);

    if (ok && rule->fixed) {
        t.columns = ARENA_ARRAY(&t.names, struct table_column, rule->column_count);
        memcpy(t.columns, rule->columns, rule->column_count * sizeof *rule->columns);
        t.column_count = rule->column_count;
    }
    if (ok) {
        put_table_head(&t);
        ok = put_rows(&t);
    }
    if (ok)
        put_written(&t);
    outlet_puts(&t.out, "}\n");
    free(t.row);
    arena_done(&t.names);
    buf_done(&t.scratch);
    return outlet_end(&t.out, ok, err);
}
