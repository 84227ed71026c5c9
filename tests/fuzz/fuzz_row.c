/* fuzz_row.c - any bytes as a row, a key, a batch, and as texts that are cast.
 *
 * They come from other locations and other people's databases.  What is read strictly comes back as
 * the same bytes when it is written again; what is cast comes back as the same value.
 *
 * The first byte says what the rest is; of rows and keys the second says how many columns there
 * are, whose types follow.
 */
#include "base/auto.h"
#include "base/require.h"
#include "table/batch.h"
#include "table/cell.h"
#include "table/key.h"
#include "table/row.h"
#include "table/shape.h"

enum { COLUMNS_MOST = 8, CASES = 5, DIGITS_MOST = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct err err;

static size_t take_byte(struct str *in)
{
    size_t n = in->len > 0 ? (unsigned char)in->ptr[0] : 0;

    *in = str_from(*in, 1);
    return n;
}

static size_t take_types(struct str *in, enum cell_type *types)
{
    size_t count = take_byte(in) % (COLUMNS_MOST + 1);

    for (size_t i = 0; i < count; i++)
        types[i] = (enum cell_type)(take_byte(in) % CELL_TYPES);
    return count;
}

static void check_casts(const struct cell *c, struct arena *a)
{
    (void)cell_text(c, 40, a);
    for (enum cell_type t = CELL_INT; t < CELL_TYPES; t++) {
        struct cell made, back;

        if (!cell_cast(c, t, a, &made, &err))
            require(t != c->type && !cell_cast_is_safe(c->type, t));
        else if (c->type != CELL_NULL && c->type != CELL_TEXT)
            require(cell_cast(&made, c->type, a, &back, &err) && cell_same(&back, c));
    }
}

static void try_row(struct str in, struct arena *a)
{
    AUTO(buf_done) struct buf again = BUF_INIT(SHAPE_ROW_BYTES);
    struct cell cells[COLUMNS_MOST], same;
    enum cell_type types[COLUMNS_MOST];
    size_t count = take_types(&in, types);

    if (!row_take(in, types, count, cells, &err)) {
        require(err.kind == ERR_PERMANENT);
        return;
    }
    require(row_put(&again, cells, count, &err) && str_eq(buf_view(&again), in));
    for (size_t i = 0; i < count; i++) {
        require(cell_cast(&cells[i], types[i] == CELL_NULL ? CELL_INT : types[i], a, &same, &err));
        require(cell_same(&same, &cells[i]));
        check_casts(&cells[i], a);
    }
}

static void try_key(struct str in, struct arena *a)
{
    AUTO(buf_done) struct buf again = BUF_INIT(SHAPE_KEY_BYTES);
    struct cell cells[COLUMNS_MOST];
    enum cell_type types[COLUMNS_MOST];
    size_t count = take_types(&in, types);

    if (!key_take(in, types, count, a, cells, &err)) {
        require(err.kind == ERR_PERMANENT);
        return;
    }
    require(key_put(&again, cells, count, &err) && str_eq(buf_view(&again), in));
}

static void try_batch(struct str in)
{
    AUTO(buf_done) struct buf again = BUF_INIT(1 << 20);
    struct str rest = in;
    struct batch_entry e;

    while (rest.len > 0 && batch_take(&rest, &e, &err)) {
        size_t before = again.len;

        require(batch_put(&again, &e, &err) && again.len == before + batch_size(&e));
    }
    require(str_eq(buf_view(&again), str_mem(in.ptr, in.len - rest.len)));
}

/* A form is a form of itself, and as a text it is lent. */
static void try_json(struct str in, struct arena *a)
{
    struct cell from = { .type = CELL_TEXT, .s = in }, json, again;

    if (!cell_cast(&from, CELL_JSON, a, &json, &err)) {
        require(err.kind == ERR_PERMANENT);
        return;
    }
    from.s = json.s;
    require(cell_cast(&from, CELL_JSON, a, &again, &err));
    require(again.s.ptr == json.s.ptr && again.s.len == json.s.len);
}

static void try_text(struct str in, struct arena *a)
{
    int digits = (int)(take_byte(&in) % DIGITS_MOST);
    struct cell from = { .type = CELL_TEXT, .s = in }, made, back, rounded;

    for (enum cell_type t = CELL_INT; t < CELL_TYPES; t++) {
        if (!cell_cast(&from, t, a, &made, &err)) {
            require(err.kind == ERR_PERMANENT && !str_has_control(str_of(err.text)));
            continue;
        }
        require(cell_cast(&made, CELL_TEXT, a, &back, &err));
        require(cell_cast(&back, t, a, &back, &err) && cell_same(&made, &back));
        require(cell_round(&made, digits, a, &rounded, &err));
        require(cell_round(&rounded, digits, a, &back, &err) && cell_same(&rounded, &back));
        require(cell_cast(&rounded, t, a, &back, &err) && cell_same(&rounded, &back));
    }
    from.type = CELL_BYTES;
    check_casts(&from, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(64 << 20);
    struct str in = str_mem(bytes, size);

    if (size > 1 << 16)
        return 0;
    switch (take_byte(&in) % CASES) {
    case 0:
        try_row(in, &a);
        break;
    case 1:
        try_key(in, &a);
        break;
    case 2:
        try_batch(in);
        break;
    case 3:
        try_json(in, &a);
        break;
    default:
        try_text(in, &a);
        break;
    }
    return 0;
}
