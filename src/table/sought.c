#include "table/sought.h"

#include "base/auto.h"
#include "base/buf.h"
#include "table/cell_time.h"

enum { EXAMPLE_MOST = 200, NAMES_MOST = 90 };

/* ---- names ---- */

static bool sought_say_names(const struct shape *s, struct str name, struct err *err)
{
    AUTO(buf_done) struct buf names = BUF_INIT(SHAPE_COLUMNS_MOST * (SHAPE_NAME_MOST + 2));

    for (size_t i = 0; i < s->count && names.len < NAMES_MOST; i++)
        buf_printf(&names, "%s%.*s", i > 0 ? ", " : "", STR_ARG(s->columns[i].name));
    return err_set(err, ERR_CONFIG, 0, "table %.*s has no column %.*s; it has %.*s%s",
                   STR_ARG(str_first(s->name, 40)), STR_ARG(str_first(name, 40)),
                   STR_ARG(str_first(buf_view(&names), NAMES_MOST)),
                   names.len > NAMES_MOST ? "..." : "");
}

bool sought_places(const struct shape *s, const struct str *names, size_t count, size_t *ret,
                   struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct shape_column *c = shape_column(s, names[i]);

        if (c == NULL)
            return sought_say_names(s, names[i], err);
        ret[i] = (size_t)(c - s->columns);
    }
    return true;
}

bool sought_value_of(const struct shape *s, struct str name, struct str text, struct arena *a,
                     struct sought_value *ret, struct err *err)
{
    const struct cell raw = { .type = CELL_TEXT, .s = text };
    struct err why = { 0 };

    if (!sought_places(s, &name, 1, &ret->column, err))
        return false;
    const struct shape_column *c = &s->columns[ret->column];

    if (c->natural == CELL_NULL)
        return err_set(err, ERR_CONFIG, 0,
                       "column %.*s is of type %.*s, which is not compared with values here",
                       STR_ARG(str_first(name, 60)), STR_ARG(str_first(c->native, 40)));
    if (!cell_cast(&raw, c->natural, a, &ret->value, &why))
        return err_set(err, ERR_CONFIG, 0, "column %.*s: %.120s", STR_ARG(str_first(name, 40)),
                       why.text);
    return true;
}

/* ---- what is shown ---- */

static bool sought_has(const size_t *places, size_t count, size_t place)
{
    for (size_t i = 0; i < count; i++)
        if (places[i] == place)
            return true;
    return false;
}

size_t sought_shown(const struct sought *s, size_t places[static SOUGHT_SHOWN_MOST])
{
    const struct shape *t = s->shape;
    size_t n = 0;

    for (int place = 1; s->kind != SOUGHT_DUPLICATES && place <= SHAPE_KEY_MOST; place++)
        for (size_t i = 0; i < t->count && n < SHAPE_KEY_MOST; i++)
            if (t->columns[i].key_place == place)
                places[n++] = i;
    for (size_t i = 0; i < s->count; i++)
        if (!sought_has(places, n, s->columns[i]))
            places[n++] = s->columns[i];
    return n;
}

bool sought_before(const struct sought *s, struct cell *ret, struct err *err)
{
    const struct shape_column *c = sought_column(s, 0);
    int64_t day = s->before_local_us / CELL_DAY_US - (s->before_local_us % CELL_DAY_US < 0);

    *ret = (struct cell){ .type = c->natural };
    switch (c->natural) {
    case CELL_INSTANT:
        ret->i = s->before_us;
        return true;
    case CELL_LOCAL:
        ret->i = s->before_local_us;
        return true;
    case CELL_DATE:
        ret->i = day;
        return true;
    default:
        return err_set(err, ERR_CONFIG, 0,
                       "column %.*s is of type %.*s, and no date or point in time",
                       STR_ARG(str_first(c->name, 60)), STR_ARG(str_first(c->native, 40)));
    }
}

/* ---- examples ---- */

/* Of other people's data: nothing of it reaches a terminal as it is. */
static void found_put(struct buf *to, struct str text)
{
    bool clean = str_is_utf8(text);
    size_t characters = 0;

    if (text.ptr == NULL)
        buf_puts(to, "NULL");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if ((c & 0xc0) != 0x80 && ++characters > SOUGHT_VALUE_MOST) {
            buf_puts(to, "...");
            return;
        }
        buf_putc(to, c < ' ' || c == 0x7f || (c >= 0x80 && !clean) ? '?' : text.ptr[i]);
    }
}

void found_add(struct found *f, const struct sought *s, const struct str *texts, struct arena *a)
{
    AUTO(buf_done)
    struct buf line =
        BUF_INIT((SOUGHT_SHOWN_MOST + 1) * (SHAPE_NAME_MOST + 4 * SOUGHT_VALUE_MOST + 20));
    size_t places[SOUGHT_SHOWN_MOST], n = sought_shown(s, places);

    f->count++;
    if (f->example_count >= s->shown || f->example_count >= SOUGHT_EXAMPLES_MOST)
        return;
    for (size_t i = 0; i < n; i++) {
        buf_printf(&line, "%s%.*s = ", i > 0 ? ", " : "",
                   STR_ARG(s->shape->columns[places[i]].name));
        found_put(&line, texts[i]);
    }
    if (line.len > EXAMPLE_MOST) {
        buf_cut(&line, str_first(buf_view(&line), EXAMPLE_MOST).len);
        buf_puts(&line, "...");
    }
    if (s->kind == SOUGHT_DUPLICATES) {
        buf_puts(&line, " (");
        found_put(&line, texts[n]);
        buf_puts(&line, " rows)");
    }
    f->examples[f->example_count++] = arena_copy(a, buf_view(&line));
}
