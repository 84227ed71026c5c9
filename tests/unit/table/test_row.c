#include "table/row.h"

#include <math.h>

#include "base/auto.h"
#include "some_cells.h"
#include "test.h"

enum { ROW_MOST = 1 << 16, COLUMNS = CELL_TYPES };

static struct err err;

static size_t some_row(struct arena *a, enum cell_type *types, struct cell *cells)
{
    size_t count = some_below(COLUMNS + 1);

    for (size_t i = 0; i < count; i++) {
        types[i] = (enum cell_type)(1 + some_below(CELL_TYPES - 1));
        cells[i] = some_below(4) == 0 ? (struct cell){ .type = CELL_NULL } : some_cell(types[i], a);
    }
    return count;
}

TEST(row_has_the_bytes_that_are_agreed)
{
    AUTO(buf_done) struct buf b = BUF_INIT(ROW_MOST);
    const struct cell cells[] = {
        { .type = CELL_NULL },
        { .type = CELL_INT, .i = -65 },
        { .type = CELL_DEC, .s = STR("1.5") },
        { .type = CELL_FLOAT, .f = 1 },
        { .type = CELL_TEXT, .s = STR("") },
        { .type = CELL_BYTES, .s = STR("\0") },
        { .type = CELL_BOOL, .i = 1 },
        { .type = CELL_INSTANT, .i = 1 },
        { .type = CELL_DATE, .i = -1 },
        { .type = CELL_DATE, .i = CELL_FOREVER },
        { .type = CELL_TIME, .i = 256 },
    };
    static const char bytes[] = "\0\x0b"
                                "\x00\x00"
                                "\x01\x02\x81\x01"
                                "\x02\x03"
                                "1.5"
                                "\x03\x08\x3f\xf0\0\0\0\0\0\0"
                                "\x04\x00"
                                "\x05\x01\x00"
                                "\x06\x01\x01"
                                "\x07\x08\0\0\0\0\0\0\0\x01"
                                "\x09\x04\xff\xff\xff\xff"
                                "\x09\x04\x7f\xff\xff\xff"
                                "\x0a\x08\0\0\0\0\0\0\x01\0";

    CHECK(row_put(&b, cells, sizeof cells / sizeof cells[0], &err));
    CHECK(str_eq(buf_view(&b), str_mem(bytes, sizeof bytes - 1)));
}

TEST(row_comes_back)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf b = BUF_INIT(ROW_MOST);

    for (int n = 0; n < 5000; n++) {
        struct cell cells[COLUMNS], back[COLUMNS];
        enum cell_type types[COLUMNS];

        arena_reset(&a);
        buf_clear(&b);
        size_t count = some_row(&a, types, cells);

        CHECK(row_put(&b, cells, count, &err));
        CHECK(row_take(buf_view(&b), types, count, back, &err));
        for (size_t i = 0; i < count; i++)
            CHECK(cell_same(&cells[i], &back[i]));
        CHECK(!row_take(buf_view(&b), types, count + 1, back, &err) && err.kind == ERR_PERMANENT);
    }
}

/* proves: S5 */
TEST(row_that_is_damaged_is_refused_or_is_another_row)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf b = BUF_INIT(ROW_MOST), again = BUF_INIT(ROW_MOST);
    int taken = 0, refused = 0;

    for (int n = 0; n < 20000; n++) {
        struct cell cells[COLUMNS];
        enum cell_type types[COLUMNS];

        arena_reset(&a);
        buf_clear(&b);
        buf_clear(&again);
        size_t count = some_row(&a, types, cells);

        CHECK(row_put(&b, cells, count, &err));
        b.ptr[some_below(b.len)] = (char)some_below(256);
        buf_cut(&b, b.len - (some_below(8) == 0));
        if (!row_take(buf_view(&b), types, count, cells, &err)) {
            CHECK(err.kind == ERR_PERMANENT);
            refused++;
            continue;
        }
        CHECK(row_put(&again, cells, count, &err) && str_eq(buf_view(&again), buf_view(&b)));
        taken++;
    }
    CHECK(taken > 1000 && refused > 1000);
}

TEST(row_in_another_form_is_refused)
{
    static const struct {
        enum cell_type type;
        const char *bytes;
        size_t len;
    } odd[] = {
#define ODD(type, bytes) { type, "\0\x01" bytes, sizeof("\0\x01" bytes) - 1 }
        ODD(CELL_INT, "\x01\x02\x80\x00"), /* a number longer than it must be */
        ODD(CELL_INT, "\x01\x81\x00\x00"), /* a length longer than it must be */
        ODD(CELL_INT, "\x01\x02\x00\x00"), /* something behind the number */
        ODD(CELL_INT, "\x02\x01"           /* another type */
                      "1"),
        ODD(CELL_INT, "\x00\x01\x00"), /* a NULL with something */
        ODD(CELL_DEC, "\x02\x03"
                      "1.0"),
        ODD(CELL_DEC, "\x02\x02"
                      "-0"),
        ODD(CELL_DEC, "\x02\x00"),
        ODD(CELL_FLOAT, "\x03\x08\x80\0\0\0\0\0\0\0"),     /* -0 */
        ODD(CELL_FLOAT, "\x03\x08\x7f\xf8\0\0\0\0\0\x01"), /* another NaN */
        ODD(CELL_FLOAT, "\x03\x04\x7f\xf8\0\0"),
        ODD(CELL_TEXT, "\x04\x01\xff"),
        ODD(CELL_TEXT, "\x04\x01\x00"),
        ODD(CELL_BOOL, "\x06\x01\x02"),
        ODD(CELL_TIME, "\x0a\x08\x7f\xff\xff\xff\xff\xff\xff\xff"),
        ODD(CELL_UUID, "\x0b\x01\x00"),
        ODD(CELL_JSON, "\x0c\x03[ ]"),
        ODD(CELL_JSON, "\x0c\x03"
                       "1.0"),
    };
    struct cell c;

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        CHECK(!row_take(str_mem(odd[i].bytes, odd[i].len), &odd[i].type, 1, &c, &err));
    CHECK(!row_take(STR(""), NULL, 0, NULL, &err));
    CHECK(!row_take(STR("\0\0\0"), NULL, 0, NULL, &err));
    CHECK(row_take(STR("\0\0"), NULL, 0, NULL, &err));
}

TEST(row_over_the_cap_leaves_what_was)
{
    AUTO(buf_done) struct buf b = BUF_INIT(20);
    struct cell c = { .type = CELL_TEXT, .s = STR("0123456789abcdef") };

    buf_puts(&b, "x");
    CHECK(!row_put(&b, &c, 1, &err) && err.kind == ERR_LIMIT && str_is(buf_view(&b), "x"));
    c.s.len--;
    CHECK(row_put(&b, &c, 1, &err) && b.len == 20);
}

TEST(row_sum_is_the_same_in_any_order)
{
    struct row_sum all = { 0 }, back = { 0 }, left = { 0 }, right = { 0 }, read = { 0 };
    uint8_t bytes[ROW_SUM_BYTES];
    struct sha256 hashes[50];

    for (size_t i = 0; i < 50; i++) {
        hashes[i] = row_hash(str_mem(&i, sizeof i));
        row_sum_add(&all, &hashes[i]);
        row_sum_add(i < 20 ? &left : &right, &hashes[i]);
    }
    for (size_t i = 50; i-- > 0;)
        row_sum_add(&back, &hashes[i]);
    CHECK(row_sum_same(&all, &back) && all.rows == 50);
    row_sum_join(&left, &right);
    CHECK(row_sum_same(&all, &left));
    row_sum_put(&all, bytes);
    CHECK(bytes[7] == 50);
    row_sum_take(&read, bytes);
    CHECK(row_sum_same(&all, &read));
    read.rows++;
    CHECK(!row_sum_same(&all, &read));
}

TEST(row_sum_carries_over_all_its_words)
{
    struct row_sum s = { 0 };
    struct sha256 most, one = { 0 };
    uint8_t bytes[ROW_SUM_BYTES];

    memset(&most, 0xff, sizeof most);
    one.bytes[31] = 1;
    row_sum_add(&s, &most);
    row_sum_put(&s, bytes);
    CHECK(bytes[8] == 0xff && bytes[39] == 0xff);
    row_sum_add(&s, &one);
    CHECK(s.words[0] == 0 && s.words[1] == 0 && s.words[2] == 0 && s.words[3] == 0 && s.rows == 2);
    row_sum_add(&s, &most);
    row_sum_add(&s, &most); /* a carry into a word that is full */
    row_sum_put(&s, bytes);
    CHECK(bytes[8] == 0xff && bytes[38] == 0xff && bytes[39] == 0xfe);
    one.bytes[0] = 1;
    row_sum_add(&s, &one); /* 2^248 + 1 - 2 */
    CHECK(s.words[3] == UINT64_C(0x00ffffffffffffff) && s.words[0] == UINT64_MAX);
}

int main(void)
{
    return test_main();
}
