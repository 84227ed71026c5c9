#include "table/side_encode.h"

#include "table/key.h"
#include "table/row.h"

enum { CODER_KEPT = 1 << 20 };

void side_coder_init(struct side_coder *c, const struct fit *fit)
{
    *c = (struct side_coder){ .fit = fit,
                              .kept = ARENA_INIT(CODER_KEPT),
                              .scratch = ARENA_INIT(SIDE_SCRATCH),
                              .key = BUF_INIT(SHAPE_KEY_BYTES),
                              .row = BUF_INIT(SHAPE_ROW_BYTES) };
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

/* Casts the first `count` cells of a row to c->cells. */
static bool coder_cast(struct side_coder *c, const struct cell *cells, size_t count, bool compared,
                       struct err *err)
{
    arena_reset(&c->scratch);
    for (size_t i = 0; i < count; i++) {
        const struct fit_column *column = &c->fit->columns[i];
        struct cell *to = &c->cells[i];

        if (!cell_cast(&cells[i], column->travels, &c->scratch, to, err))
            return err_context(err, "column %.*s", STR_ARG(str_first(column->name, 60)));
        if (column->padded && to->type == CELL_TEXT)
            to->s = coder_unpadded(to->s);
        if (compared && column->digits >= 0) {
            struct cell whole = *to;

            if (!cell_round(&whole, column->digits, &c->scratch, to, err))
                return err_context(err, "column %.*s", STR_ARG(str_first(column->name, 60)));
        }
    }
    return true;
}

bool side_coder_key(struct side_coder *c, const struct cell *cells, struct err *err)
{
    buf_clear(&c->key);
    return coder_cast(c, cells, c->fit->key_count, false, err) &&
           key_put(&c->key, c->cells, c->fit->key_count, err);
}

bool side_coder_row(struct side_coder *c, const struct cell *cells, bool compared, struct err *err)
{
    buf_clear(&c->row);
    return coder_cast(c, cells, c->fit->count, compared, err) &&
           row_put(&c->row, c->cells, c->fit->count, err);
}

/* ---- back ---- */

static bool coder_natural(const struct side_coder *c, struct cell *cells, size_t count,
                          struct arena *a, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct fit_column *column = &c->fit->columns[i];
        struct cell came = cells[i];

        if (!cell_cast(&came, c->fit->shape->columns[column->at].natural, a, &cells[i], err))
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

bool side_coder_natural_row(const struct side_coder *c, struct str bytes, struct arena *a,
                            struct cell *ret, struct err *err)
{
    return row_take(bytes, c->travels, c->fit->count, ret, err) &&
           coder_natural(c, ret, c->fit->count, a, err);
}
