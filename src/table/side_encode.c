#include "table/side_encode.h"

#include <math.h>

#include "table/key.h"
#include "table/row.h"

enum { CODER_KEPT = 1 << 20 };

void side_coder_init(struct side_coder *c, const struct fit *fit)
{
    *c =
        (struct side_coder){ .fit = fit,
                             .kept = ARENA_INIT(CODER_KEPT),
                             .scratch = ARENA_INIT(SIDE_SCRATCH),
                             .key = BUF_INIT(SHAPE_KEY_BYTES),
                             .row = BUF_INIT(fit->row_most > 0 ? fit->row_most : SHAPE_ROW_BYTES) };
    c->travels = ARENA_ARRAY(&c->kept, enum cell_type, fit->count);
    c->cells = ARENA_ARRAY(&c->kept, struct cell, fit->count);
    for (size_t i = 0; i < fit->count; i++)
        c->travels[i] = fit->columns[i].travels;
}

void side_coder_done(struct side_coder *c)
{
    buf_done(&c->key);
    buf_done(&c->row);
    arena_done(&c->scratch);
    arena_done(&c->kept);
}

static struct str coder_unpadded(struct str s)
{
    while (s.len > 0 && s.ptr[s.len - 1] == ' ')
        s.len--;
    return s;
}

/* Casts cells first..last-1 of a row to c->cells. */
static bool coder_cast(struct side_coder *c, const struct cell *cells, size_t first, size_t last,
                       struct err *err)
{
    for (size_t i = first; i < last; i++) {
        const struct fit_column *column = &c->fit->columns[i];
        struct cell *to = &c->cells[i];

        if (!cell_cast(&cells[i], column->travels, &c->scratch, to, err))
            return err_context(err, "column %.*s", STR_ARG(str_first(column->name, 60)));
        if (column->padded && to->type == CELL_TEXT)
            to->s = coder_unpadded(to->s);
    }
    return true;
}

static bool coder_round(struct side_coder *c, struct err *err)
{
    for (size_t i = 0; i < c->fit->count; i++) {
        const struct fit_column *column = &c->fit->columns[i];
        struct cell whole = c->cells[i];

        if (column->digits >= 0 &&
            !cell_round(&whole, column->digits, &c->scratch, &c->cells[i], err))
            return err_context(err, "column %.*s", STR_ARG(str_first(column->name, 60)));
    }
    return true;
}

bool side_coder_key(struct side_coder *c, const struct cell *cells, struct err *err)
{
    buf_clear(&c->key);
    arena_reset(&c->scratch);
    return coder_cast(c, cells, 0, c->fit->key_count, err) &&
           key_put(&c->key, c->cells, c->fit->key_count, err);
}

bool side_coder_rest(struct side_coder *c, const struct cell *cells, bool compared, struct err *err)
{
    buf_clear(&c->row);
    return coder_cast(c, cells, c->fit->key_count, c->fit->count, err) &&
           (!compared || coder_round(c, err)) && row_put(&c->row, c->cells, c->fit->count, err);
}

bool side_coder_row(struct side_coder *c, const struct cell *cells, bool compared, struct err *err)
{
    arena_reset(&c->scratch);
    return coder_cast(c, cells, 0, c->fit->key_count, err) &&
           side_coder_rest(c, cells, compared, err);
}

/* ---- back ---- */

static int64_t coder_digits(struct str dec)
{
    ptrdiff_t point = str_find(dec, '.');

    return point < 0 ? 0 : (int64_t)dec.len - point - 1;
}

/* The column keeps the value as it is: a database would make another one of it, and say nothing. */
static bool coder_keeps(const struct shape_column *c, const struct cell *cell)
{
    int64_t unit = 1;

    switch (cell->type) {
    case CELL_DEC:
        return !c->has_scale || coder_digits(cell->s) <= (c->scale > 0 ? c->scale : 0);
    case CELL_FLOAT:
        return !c->single || isnan(cell->f) || (double)(float)cell->f == cell->f;
    case CELL_INSTANT:
    case CELL_LOCAL:
    case CELL_TIME:
        for (int i = c->has_scale ? c->scale : CELL_TIME_DIGITS; i < CELL_TIME_DIGITS; i++)
            unit *= 10;
        return cell->i % unit == 0 || cell->i == CELL_FOREVER || cell->i == CELL_NEVER;
    default:
        return true;
    }
}

static bool coder_natural(const struct side_coder *c, struct cell *cells, size_t count,
                          struct arena *a, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct fit_column *column = &c->fit->columns[i];
        struct cell came = cells[i];

        const struct shape_column *to = &c->fit->shape->columns[column->at];

        if (!cell_cast(&came, to->natural, a, &cells[i], err))
            return err_context(err, "column %.*s", STR_ARG(str_first(column->name, 60)));
    }
    return true;
}

bool side_coder_natural_key(const struct side_coder *c, struct str bytes, struct arena *a,
                            struct cell *ret, struct err *err)
{
    return key_take(bytes, c->travels, c->fit->key_count, a, ret, err) &&
           coder_natural(c, ret, c->fit->key_count, a, err);
}

static bool coder_keeps_all(const struct side_coder *c, const struct cell *cells, struct err *err)
{
    for (size_t i = 0; i < c->fit->count; i++) {
        const struct fit_column *column = &c->fit->columns[i];
        const struct shape_column *to = &c->fit->shape->columns[column->at];

        if (column->digits < 0 && !coder_keeps(to, &cells[i]))
            return err_set(
                err, ERR_PERMANENT, 0, "column %.*s: the value has more digits than %.*s keeps",
                STR_ARG(str_first(column->name, 60)), STR_ARG(str_first(to->native, 60)));
    }
    return true;
}

bool side_coder_natural_row(const struct side_coder *c, struct str bytes, struct arena *a,
                            struct cell *ret, struct err *err)
{
    return row_take(bytes, c->travels, c->fit->count, ret, err) &&
           coder_natural(c, ret, c->fit->count, a, err) && coder_keeps_all(c, ret, err);
}
