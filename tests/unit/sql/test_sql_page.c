#include "sql/sql_page.h"

#include "base/auto.h"
#include "test.h"

static const struct str names[] = { { "id", 2 } };
static const size_t at[] = { 0 };
static const struct sha256 seed = { { 1 } };

static void page_done(struct sql_page *p)
{
    sql_page_done(p);
}

static struct sql_cursor integer(const char *text)
{
    struct datum d = { DATUM_INTEGER, str_of(text) };
    struct sql_cursor c = { 0 };
    struct err err = { 0 };

    (void)sql_cursor_add(&c, names[0], &d, &err);
    return c;
}

static bool add(struct sql_page *p, const char *id, struct datum value, bool *ret_full,
                const struct err **ret_untold, struct err *err)
{
    static const struct sql_field fields[] = { { .name = { "id", 2 } }, { .name = { "v", 1 } } };
    struct sql_result result = { .columns = fields, .column_count = 2 };
    struct datum row[] = { { DATUM_INTEGER, str_of(id) }, value };

    *err = (struct err){ 0 };
    return sql_page_add(p, &result, row, names, at, ret_full, ret_untold, err);
}

static bool add_text(struct sql_page *p, const char *id, const char *text, bool *ret_full)
{
    const struct err *untold;
    struct err err;
    bool ok = add(p, id, (struct datum){ DATUM_TEXT, str_of(text) }, ret_full, &untold, &err);

    if (!ok)
        printf("# %s: %s\n", id, err.text);
    return ok && untold == NULL;
}

/* Rows with the same cursor are never parted; the row behind is carried to the next page. */
TEST(a_page_ends_where_the_cursor_changes)
{
    AUTO(page_done) struct sql_page p;
    struct sql_cursor from = integer("0");
    bool full;

    sql_page_init(&p, 2, 1000, &seed);
    sql_page_begin(&p, &from);
    CHECK(add_text(&p, "1", "a", &full) && !full && add_text(&p, "2", "b", &full) && !full);
    CHECK(add_text(&p, "2", "c", &full) && !full && add_text(&p, "3", "d", &full) && full);
    CHECK(sql_page_rows(&p) == 3 && str_is(sql_page_json(&p, 2), "{\"id\":2,\"v\":\"c\"}"));
    CHECK(sql_page_whole(&p, 3) == 3 && sql_page_whole(&p, 2) == 1 && sql_page_whole(&p, 1) == 1);
    struct sha256 key = p.rows[3].key;

    sql_page_next(&p);
    CHECK(sql_page_rows(&p) == 1 && str_is(sql_page_json(&p, 0), "{\"id\":3,\"v\":\"d\"}"));
    CHECK(digest_same(&p.rows[0].key, &key));
    CHECK(add_text(&p, "4", "e", &full) && !full && sql_page_rows(&p) == 2);
    sql_page_next(&p);
    CHECK(sql_page_rows(&p) == 0);
}

TEST(a_page_is_full_by_its_bytes_too)
{
    AUTO(page_done) struct sql_page p;
    struct sql_cursor from = integer("0");
    bool full;

    sql_page_init(&p, 100, 40, &seed);
    sql_page_begin(&p, &from);
    CHECK(add_text(&p, "1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", &full) &&
          !full);
    CHECK(add_text(&p, "1", "b", &full) && !full && add_text(&p, "2", "c", &full) && full);
}

TEST(equal_rows_have_keys_of_their_own)
{
    AUTO(page_done) struct sql_page p;
    AUTO(page_done) struct sql_page again;
    struct sql_cursor from = integer("0");
    static const struct sha256 other = { { 2 } };
    bool full;

    sql_page_init(&p, 100, 10000, &seed);
    sql_page_init(&again, 100, 10000, &seed);
    sql_page_begin(&p, &from);
    CHECK(add_text(&p, "1", "x", &full) && add_text(&p, "1", "y", &full));
    CHECK(add_text(&p, "1", "x", &full) && add_text(&p, "2", "x", &full));
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(!digest_same(&p.rows[i].key, &p.rows[k].key));
    /* In another order, and from another place: the same keys. */
    from = integer("-5");
    sql_page_begin(&again, &from);
    CHECK(add_text(&again, "1", "y", &full) && add_text(&again, "1", "x", &full));
    CHECK(add_text(&again, "1", "x", &full) && add_text(&again, "2", "x", &full));
    CHECK(digest_same(&again.rows[0].key, &p.rows[1].key));
    CHECK(digest_same(&again.rows[1].key, &p.rows[0].key));
    CHECK(digest_same(&again.rows[2].key, &p.rows[2].key));
    CHECK(digest_same(&again.rows[3].key, &p.rows[3].key));
    sql_page_next(&again);
    again.seed = other;
    CHECK(add_text(&again, "2", "x", &full) && !digest_same(&again.rows[0].key, &p.rows[3].key));
}

TEST(a_query_that_is_not_in_order_is_refused)
{
    static const struct {
        const char *from, *first, *second, *why;
    } cases[] = {
        { "0", "2", "1", "ORDER BY" },
        { "5", "5", NULL, "with > and not with >=" },
        { "5", "4", NULL, "with > and not with >=" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(page_done) struct sql_page p;
        struct sql_cursor from = integer(cases[i].from);
        const struct err *untold;
        struct err err;
        bool full, ok;

        sql_page_init(&p, 100, 10000, &seed);
        sql_page_begin(&p, &from);
        ok = add(&p, cases[i].first, (struct datum){ 0 }, &full, &untold, &err);
        if (cases[i].second != NULL)
            ok = ok && add(&p, cases[i].second, (struct datum){ 0 }, &full, &untold, &err);
        CHECK(!ok && err.kind == ERR_CONFIG && strstr(err.text, cases[i].why) != NULL);
    }
}

TEST(a_row_that_cannot_be_told_keeps_its_place)
{
    AUTO(page_done) struct sql_page p;
    struct sql_cursor from = integer("0");
    const struct err *untold;
    struct err err;
    bool full;

    sql_page_init(&p, 100, 10000, &seed);
    sql_page_begin(&p, &from);
    CHECK(add_text(&p, "1", "x", &full));
    CHECK(add(&p, "2", (struct datum){ DATUM_TEXT, STR("\xff") }, &full, &untold, &err));
    CHECK(untold != NULL && strstr(untold->text, "UTF-8") != NULL && p.rows[1].untold);
    CHECK(sql_page_json(&p, 1).len == 0 && str_is(sql_page_why(&p, 1), untold->text));
    CHECK(add_text(&p, "3", "y", &full) && sql_page_rows(&p) == 3 && sql_page_whole(&p, 3) == 3);
    CHECK(str_is(sql_page_json(&p, 2), "{\"id\":3,\"v\":\"y\"}"));
    sql_page_untell(&p, 2, "too large");
    CHECK(p.rows[2].untold && str_is(sql_page_why(&p, 2), "too large"));
    CHECK(sql_page_json(&p, 2).len == 0 && str_is(sql_page_json(&p, 0), "{\"id\":1,\"v\":\"x\"}"));
}

TEST(rows_of_one_cursor_have_a_limit)
{
    AUTO(page_done) struct sql_page p;
    struct sql_cursor from = integer("0"), none = { 0 };
    const struct err *untold;
    struct err err = { 0 };
    bool full, ok = true;
    size_t n = 0;

    sql_page_init(&p, 10, 1 << 20, &seed);
    sql_page_begin(&p, &from);
    for (; ok && n <= SQL_PAGE_ROWS_MOST; n++) /* differing texts: no search for equal ones */
        ok = add(&p, n < 5 ? "1" : "2", (struct datum){ 0 }, &full, &untold, &err) && n < 20;
    CHECK(n == 21 && err.kind == ERR_NONE);
    sql_page_next(&p);
    sql_page_begin(&p, &none); /* without a cursor the whole result is one page */
    for (n = 0, ok = true; ok; n++)
        ok = add(&p, "1", (struct datum){ 0 }, &full, &untold, &err);
    CHECK(n == SQL_PAGE_ROWS_MOST + 1 && err.kind == ERR_LIMIT);
    CHECK(strstr(err.text, "give it a `cursor`") != NULL);
}

int main(void)
{
    return test_main();
}
