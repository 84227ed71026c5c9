#include "table/key.h"

#include "base/auto.h"
#include "some_cells.h"
#include "table/shape.h"
#include "test.h"

static struct err err;

static const enum cell_type key_types[] = { CELL_INT,  CELL_TEXT,    CELL_BYTES,
                                            CELL_BOOL, CELL_INSTANT, CELL_LOCAL,
                                            CELL_DATE, CELL_TIME,    CELL_UUID };
enum { KEY_TYPES = sizeof key_types / sizeof key_types[0] };

static int sign(int64_t n)
{
    return n < 0 ? -1 : n > 0;
}

static int cell_order(const struct cell *a, const struct cell *b)
{
    if (a->type == CELL_TEXT || a->type == CELL_BYTES || a->type == CELL_UUID)
        return sign(str_cmp(a->s, b->s));
    return a->i < b->i ? -1 : a->i > b->i;
}

static int key_order(const struct cell *a, const struct cell *b, size_t count)
{
    int c = 0;

    for (size_t i = 0; i < count && c == 0; i++)
        c = cell_order(&a[i], &b[i]);
    return c;
}

TEST(key_bytes_are_in_the_order_of_the_keys)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf x = BUF_INIT(SHAPE_KEY_BYTES), y = BUF_INIT(SHAPE_KEY_BYTES);

    for (int n = 0; n < 20000; n++) {
        struct cell one[3], two[3];
        size_t count = 1 + some_below(3);

        arena_reset(&a);
        buf_clear(&x);
        buf_clear(&y);
        for (size_t i = 0; i < count; i++) {
            enum cell_type type = key_types[some_below(KEY_TYPES)];

            one[i] = some_cell(type, &a);
            two[i] = some_below(3) == 0 ? one[i] : some_cell(type, &a);
        }
        CHECK(key_put(&x, one, count, &err) && key_put(&y, two, count, &err));
        CHECK(sign(str_cmp(buf_view(&x), buf_view(&y))) == key_order(one, two, count));
    }
}

TEST(key_comes_back)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf x = BUF_INIT(SHAPE_KEY_BYTES);

    for (int n = 0; n < 5000; n++) {
        struct cell one[3], back[3];
        enum cell_type types[3];
        size_t count = 1 + some_below(3);

        arena_reset(&a);
        buf_clear(&x);
        for (size_t i = 0; i < count; i++) {
            types[i] = key_types[some_below(KEY_TYPES)];
            one[i] = some_cell(types[i], &a);
        }
        CHECK(key_put(&x, one, count, &err));
        CHECK(key_take(buf_view(&x), types, count, &a, back, &err));
        for (size_t i = 0; i < count; i++)
            CHECK(cell_same(&one[i], &back[i]));
    }
}

/* proves: S5 */
TEST(key_that_is_damaged_is_refused_or_is_another_key)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf x = BUF_INIT(SHAPE_KEY_BYTES), again = BUF_INIT(SHAPE_KEY_BYTES);
    static const enum cell_type types[] = { CELL_TEXT, CELL_BOOL, CELL_BYTES, CELL_DATE };
    int taken = 0, refused = 0;

    for (int n = 0; n < 20000; n++) {
        struct cell cells[4];

        arena_reset(&a);
        buf_clear(&x);
        buf_clear(&again);
        for (size_t i = 0; i < 4; i++)
            cells[i] = some_cell(types[i], &a);
        CHECK(key_put(&x, cells, 4, &err));
        x.ptr[some_below(x.len)] = (char)some_below(256);
        buf_cut(&x, x.len - (some_below(8) == 0));
        if (!key_take(buf_view(&x), types, 4, &a, cells, &err)) {
            CHECK(err.kind == ERR_PERMANENT);
            refused++;
            continue;
        }
        CHECK(key_put(&again, cells, 4, &err) && str_eq(buf_view(&again), buf_view(&x)));
        taken++;
    }
    CHECK(taken > 1000 && refused > 1000);
}

TEST(key_lends_what_has_no_zeros)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 12);
    struct str bytes = STR("ab\0\0");
    const enum cell_type type = CELL_TEXT;
    struct cell c;

    CHECK(key_take(bytes, &type, 1, &a, &c, &err) && c.s.ptr == bytes.ptr && c.s.len == 2);
    CHECK(!key_take(STR("ab\0\xff\0\0"), &type, 1, &a, &c, &err)); /* a text with a NUL */
    CHECK(!key_take(STR("ab\0\0\0"), &type, 1, &a, &c, &err));
    CHECK(!key_take(STR("ab\0"), &type, 1, &a, &c, &err));
    CHECK(!key_take(STR(""), &type, 1, &a, &c, &err));
}

TEST(key_cannot_have_everything_in_it)
{
    AUTO(buf_done) struct buf x = BUF_INIT(2 * SHAPE_KEY_BYTES);
    static char zeros[SHAPE_KEY_BYTES];
    struct cell c = { .type = CELL_NULL };

    buf_puts(&x, "before");
    CHECK(!key_put(&x, &c, 1, &err) && err.kind == ERR_PERMANENT);
    CHECK(strcmp(err.text, "column 1 of the key is NULL") == 0);
    for (enum cell_type t = CELL_NULL; t < CELL_TYPES; t++) {
        bool in = false;

        for (size_t i = 0; i < KEY_TYPES; i++)
            in = in || key_types[i] == t;
        CHECK(key_type_fits(t) == in);
    }
    c = (struct cell){ .type = CELL_DEC, .s = STR("1") };
    CHECK(!key_put(&x, &c, 1, &err) && err.kind == ERR_PERMANENT);
    c = (struct cell){ .type = CELL_BYTES, .s = str_mem(zeros, SHAPE_KEY_BYTES / 2) };
    CHECK(!key_put(&x, &c, 1, &err) && err.kind == ERR_LIMIT);
    c.s.len = SHAPE_KEY_BYTES / 2 - 1;
    CHECK(str_is(buf_view(&x), "before"));
    CHECK(key_put(&x, &c, 1, &err) && x.len == 6 + SHAPE_KEY_BYTES);
}

int main(void)
{
    return test_main();
}
