#include "table/batch.h"

#include "base/auto.h"
#include "some_cells.h"
#include "test.h"

static struct err err;

static struct batch_entry some_entry(struct arena *a)
{
    bool gone = some_below(2) == 0;

    return (struct batch_entry){ .gone = gone,
                                 .x = some_int(),
                                 .at_us = some_int(),
                                 .origin = some_text(a),
                                 .key = some_bytes(a),
                                 .row = gone ? STR("") : some_bytes(a) };
}

TEST(batch_comes_back)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf b = BUF_INIT(BATCH_BYTES);
    struct batch_entry e[500], back;

    for (size_t i = 0; i < 500; i++) {
        size_t before = b.len;

        e[i] = some_entry(&a);
        CHECK(batch_put(&b, &e[i], &err) && b.len == before + batch_size(&e[i]));
    }
    struct str rest = buf_view(&b);

    for (size_t i = 0; i < 500; i++) {
        CHECK(batch_take(&rest, &back, &err));
        CHECK(back.gone == e[i].gone && back.x == e[i].x && back.at_us == e[i].at_us &&
              str_eq(back.origin, e[i].origin) && str_eq(back.key, e[i].key) &&
              str_eq(back.row, e[i].row));
    }
    CHECK(rest.len == 0);
}

/* proves: S5 */
TEST(batch_that_is_damaged_is_refused_or_is_another_one)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf b = BUF_INIT(BATCH_BYTES), again = BUF_INIT(BATCH_BYTES);
    int taken = 0, refused = 0;

    for (int n = 0; n < 20000; n++) {
        struct batch_entry e, back;

        arena_reset(&a);
        buf_clear(&b);
        buf_clear(&again);
        e = some_entry(&a);
        CHECK(batch_put(&b, &e, &err));
        b.ptr[some_below(b.len)] = (char)some_below(256);
        buf_cut(&b, b.len - (some_below(8) == 0));
        struct str rest = buf_view(&b);

        if (rest.len == 0 || !batch_take(&rest, &back, &err)) {
            CHECK(rest.len == b.len);
            refused++;
            continue;
        }
        CHECK(batch_put(&again, &back, &err));
        CHECK(str_eq(buf_view(&again), str_mem(b.ptr, b.len - rest.len)));
        taken++;
    }
    CHECK(taken > 1000 && refused > 1000);
}

TEST(batch_over_the_cap_leaves_what_was)
{
    AUTO(buf_done) struct buf b = BUF_INIT(12);
    struct batch_entry e = { .x = 1, .origin = STR("o"), .key = STR("k"), .row = STR("row") };

    CHECK(batch_size(&e) == 11);
    CHECK(batch_put(&b, &e, &err) && b.len == 11);
    CHECK(!batch_put(&b, &e, &err) && err.kind == ERR_LIMIT && b.len == 11);
}

int main(void)
{
    return test_main();
}
