/* One run over the checks of a job, on databases that answer what they are told to. */
#include "job/checking.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/call.h"
#include "core/zone.h"
#include "test.h"

enum { ANSWERS = 8 };

/* What it answers, one after the other. */
static struct {
    int64_t counts[ANSWERS];
    enum err_kind fails; /* opening */
    bool breaks;         /* the next question, and the connection */
    size_t opened, closed, asked;
    struct sought last;
} fake;

struct database {
    bool broken;
};

static bool fake_open(const struct database_address *address, struct database **ret,
                      struct err *err)
{
    static struct database one[2];
    struct database *d = &one[fake.opened++ % 2];

    (void)address;
    *d = (struct database){ 0 };
    if (fake.fails != ERR_NONE)
        return err_set(err, fake.fails, 0, "no");
    *ret = d;
    return true;
}

static void fake_close(struct database *d)
{
    fake.closed += d != NULL;
}

static bool fake_broken(const struct database *d)
{
    return d->broken;
}

static bool fake_describe(struct database *d, struct str table, struct arena *a, struct shape **ret,
                          struct err *err)
{
    static struct shape_column columns[] = {
        { .name = { "id", 2 }, .natural = CELL_INT, .key_place = 1 },
        { .name = { "name", 4 }, .native = { "text", 4 }, .natural = CELL_TEXT },
        { .name = { "at", 2 }, .natural = CELL_LOCAL },
        { .name = { "odd", 3 }, .native = { "tsvector", 8 } },
    };

    (void)d;
    if (str_is(table, "none"))
        return err_set(err, ERR_CONFIG, 0, "there is no table none");
    *ret = ARENA_NEW(a, struct shape);
    **ret = (struct shape){ .name = table, .columns = columns, .count = 4, .key_count = 1 };
    return true;
}

static bool fake_begin(struct database *d, enum database_mode mode, struct err *err)
{
    (void)d;
    (void)err;
    return mode == DATABASE_SNAPSHOT;
}

static void fake_rollback(struct database *d)
{
    (void)d;
}

static bool fake_look_for(struct database *d, const struct sought *s, struct arena *a,
                          struct found *ret, struct err *err)
{
    static const struct str texts[] = { { "7", 1 }, { "x", 1 }, { "3", 1 } };

    fake.last = *s;
    if (fake.breaks) {
        fake.breaks = false;
        d->broken = true;
        return err_set(err, ERR_TRANSIENT, 0, "it does not answer");
    }
    *ret = (struct found){ 0 };
    int64_t count = fake.counts[fake.asked++ % ANSWERS];

    if (s->kind != SOUGHT_ROWS && count > 0)
        found_add(ret, s, texts, a);
    ret->count = count < s->most ? count : s->most;
    return true;
}

static const struct database_type fake_type = { .open = fake_open,
                                                .close = fake_close,
                                                .broken = fake_broken,
                                                .describe = fake_describe,
                                                .begin = fake_begin,
                                                .rollback = fake_rollback,
                                                .find = fake_look_for };

/* ---- one check ---- */

static const struct str name_column[] = { { "name", 4 } }, at_column[] = { { "at", 2 } },
                        two_columns[] = { { "name", 4 }, { "id", 2 } },
                        nobody[] = { { "nobody", 6 } }, odd[] = { { "odd", 3 } },
                        some_text[] = { { "abc", 3 } }, id_column[] = { { "id", 2 } };

struct bench {
    struct arena rule, arena;
    struct call call;
    struct check_spec spec;
    struct checking c;
    char said[4000];
};

static void bench_init(struct bench *b)
{
    struct err err = { 0 };

    memset(&fake, 0, sizeof fake);
    *b = (struct bench){ .rule = ARENA_INIT(1 << 20), .arena = ARENA_INIT(16 << 20) };
    b->spec = (struct check_spec){ .base_count = 2, .examples = 5 };
    for (size_t i = 0; i < 2; i++)
        b->spec.bases[i] =
            (struct check_base){ .type = &fake_type,
                                 .address = { .name = i == 0 ? STR("one") : STR("two") } };
    b->c = (struct checking){ .spec = &b->spec,
                              .call = &b->call,
                              .now_us = 1763535600LL * CLOCK_S, /* 2025-11-19 07:00 UTC */
                              .arena = &b->arena };
    (void)err;
}

static void bench_done(struct bench *b)
{
    checking_done(&b->c);
    arena_done(&b->rule);
    arena_done(&b->arena);
}

static struct check_rule rule_of(struct bench *b, enum sought_kind kind)
{
    struct check_rule r = { .kind = kind,
                            .title = STR("it"),
                            .table = STR("t"),
                            .in = STR("u"),
                            .other = kind == SOUGHT_ROWS,
                            .columns = name_column,
                            .column_count = kind != SOUGHT_ROWS };
    struct err err = { 0 };

    if (!zone_load(STR("UTC"), &b->rule, &r.zone, &err))
        (void)printf("# %s\n", err.text);
    return r;
}

static enum check_outcome look(struct bench *b, const struct check_rule *r)
{
    AUTO(buf_done) struct buf line = BUF_INIT(16 << 10);
    struct checked k;

    checking_one(&b->c, r, &k);
    checked_say(r, &k, &line);
    (void)snprintf(b->said, sizeof b->said, "%s", line.ptr);
    return k.outcome;
}

TEST(checking_finds_more_than_may_be_there)
{
    AUTO(bench_done) struct bench b;

    bench_init(&b);
    struct check_rule r = rule_of(&b, SOUGHT_DUPLICATES);

    CHECK(look(&b, &r) == CHECK_FINE && strcmp(b.said, "it: 0 values") == 0);
    CHECK(fake.last.most == 10001 && fake.last.shown == 5);
    fake.counts[1] = 3;
    CHECK(look(&b, &r) == CHECK_FOUND);
    CHECK(strcmp(b.said, "it: 3 values, at most 0: name = 7 (x rows)") == 0);
    fake.counts[2] = 3;
    r.most = 3;
    CHECK(look(&b, &r) == CHECK_FINE && strcmp(b.said, "it: 3 values") == 0);
    fake.counts[3] = 20000;
    CHECK(look(&b, &r) == CHECK_FOUND && strstr(b.said, "it: more than 10000 values, at most 3: "));
    r.most = 50000;
    CHECK(look(&b, &r) == CHECK_FINE && fake.last.most == 50001);
    CHECK(fake.opened == 1);
}

TEST(checking_numbers_that_differ_only_while_they_grow_is_no_finding)
{
    static const struct {
        int64_t first, other, again, apart;
        enum check_outcome want;
        size_t asked;
    } cases[] = {
        { 10, 10, -1, 0, CHECK_FINE, 2 },  { 10, 12, 12, 0, CHECK_FINE, 3 },
        { 10, 12, 15, 0, CHECK_FINE, 3 },  { 10, 12, 11, 0, CHECK_FOUND, 3 },
        { 10, 12, 10, 0, CHECK_FOUND, 3 }, { 10, 12, -1, 2, CHECK_FINE, 2 },
        { 10, 13, 10, 2, CHECK_FOUND, 3 }, { 12, 10, 9, 0, CHECK_FINE, 3 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(bench_done) struct bench b;

        bench_init(&b);
        struct check_rule r = rule_of(&b, SOUGHT_ROWS);

        r.most = cases[i].apart;
        fake.counts[0] = cases[i].first;
        fake.counts[1] = cases[i].other;
        fake.counts[2] = cases[i].again;
        CHECK(look(&b, &r) == cases[i].want);
        CHECK(fake.asked == cases[i].asked && fake.opened == 2);
    }
}

TEST(checking_numbers_that_are_too_large_are_not_compared)
{
    AUTO(bench_done) struct bench b;

    bench_init(&b);
    struct check_rule r = rule_of(&b, SOUGHT_ROWS);

    fake.counts[0] = fake.counts[1] = 2000000000;
    CHECK(look(&b, &r) == CHECK_FAILED && strstr(b.said, "more than 1000000000 rows; compare"));
    fake.counts[2] = fake.counts[4] = 2000000000;
    CHECK(look(&b, &r) == CHECK_FOUND);
    CHECK(strstr(b.said, "it: more than 1000000000 and 0 rows, at most 0 apart") != NULL);
}

TEST(checking_what_cannot_be_looked_at_has_failed_and_says_what_to_do)
{
    static const struct {
        const char *table, *in, *why;
        const struct str *columns, *names, *values, *keys;
    } cases[] = {
        { "none", "u", "database one: there is no table none; name a table that is there",
          name_column, NULL, NULL, id_column },
        { "t", "none", "there is no table none", name_column, NULL, NULL, id_column },
        { "t", "u", "table t has no column nobody; it has id, name, at, odd; correct the check",
          nobody, NULL, NULL, id_column },
        { "t", "u", "table u has no column nobody", name_column, NULL, NULL, nobody },
        { "t", "u", "column id: ", name_column, id_column, some_text, id_column },
        { "t", "u", "column odd is of type tsvector", name_column, odd, some_text, id_column },
        { "t", "u", "table t has no column nobody", name_column, nobody, some_text, id_column },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(bench_done) struct bench b;

        bench_init(&b);
        struct check_rule r = rule_of(&b, SOUGHT_ORPHANS);

        r.table = str_of(cases[i].table);
        r.in = str_of(cases[i].in);
        r.columns = cases[i].columns;
        r.keys = cases[i].keys;
        r.key_count = 1;
        r.names = cases[i].names;
        r.values = cases[i].values;
        r.value_count = cases[i].names != NULL;
        if (look(&b, &r) != CHECK_FAILED || strstr(b.said, cases[i].why) == NULL)
            printf("# %zu: %s\n", i, b.said);
        CHECK(look(&b, &r) == CHECK_FAILED && strstr(b.said, cases[i].why) != NULL);
        CHECK(fake.asked == 0);
    }
}

TEST(checking_takes_the_primary_key_where_no_keys_are_named)
{
    AUTO(bench_done) struct bench b;

    bench_init(&b);
    struct check_rule r = rule_of(&b, SOUGHT_ORPHANS);

    CHECK(look(&b, &r) == CHECK_FINE && fake.last.keys[0] == 0 && fake.last.columns[0] == 1);
    r.columns = two_columns;
    r.column_count = 2;
    CHECK(look(&b, &r) == CHECK_FAILED);
    CHECK(strstr(b.said, "the primary key of u has 1 columns, and `columns` are 2") != NULL);
}

TEST(checking_a_database_that_is_not_there_is_asked_once_and_one_that_was_lost_again)
{
    AUTO(bench_done) struct bench b;

    bench_init(&b);
    struct check_rule r = rule_of(&b, SOUGHT_DUPLICATES);

    fake.breaks = true;
    CHECK(look(&b, &r) == CHECK_FAILED && strstr(b.said, "make an index") != NULL);
    CHECK(fake.opened == 1 && fake.closed == 1);
    CHECK(look(&b, &r) == CHECK_FINE && fake.opened == 2);
    checking_done(&b.c);
    fake.fails = ERR_TRANSIENT;
    CHECK(look(&b, &r) == CHECK_FAILED && strstr(b.said, "database one: no; see whether it runs"));
    CHECK(look(&b, &r) == CHECK_FAILED && fake.opened == 3);
}

TEST(checking_a_column_without_a_zone_is_read_by_that_of_the_check)
{
    AUTO(bench_done) struct bench b;
    struct err err = { 0 };

    bench_init(&b);
    struct check_rule r = rule_of(&b, SOUGHT_OLDER);

    r.columns = at_column;
    r.than_us = 3600LL * CLOCK_S;
    CHECK(look(&b, &r) == CHECK_FINE);
    CHECK(fake.last.before_us == 1763532000LL * CLOCK_S);
    CHECK(fake.last.before_local_us == fake.last.before_us);
    CHECK(zone_load(STR("Asia/Tokyo"), &b.rule, &r.zone, &err));
    CHECK(look(&b, &r) == CHECK_FINE);
    CHECK(fake.last.before_local_us == fake.last.before_us + 9LL * 3600 * CLOCK_S);
}

int main(void)
{
    return test_main();
}
