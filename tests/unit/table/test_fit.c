#include "base/auto.h"
#include "table/shape.h"
#include "test.h"

static struct arena arena = ARENA_INIT(1 << 24);
static struct buf problems = BUF_INIT(1 << 20);
static struct fit *of_source, *of_dest;

#define COLUMN(name_, native_, natural_, ...)                                        \
    {                                                                                \
        .name = STR(name_), .native = STR(native_), .natural = natural_, __VA_ARGS__ \
    }
#define KEY(place) .key_place = place, .bytewise = true

/* The shape of some columns, whose key is counted. */
static const struct shape *shape_of(const struct shape_column *columns, size_t count)
{
    struct shape *s = ARENA_NEW(&arena, struct shape);

    *s = (struct shape){ .schema = STR("public"), .name = STR("t"), .count = count };
    s->columns = ARENA_ARRAY(&arena, struct shape_column, count);
    memcpy(s->columns, columns, count * sizeof *columns);
    for (size_t i = 0; i < count; i++)
        s->key_count += columns[i].key_place > 0;
    return s;
}

#define SHAPE(...)                                         \
    shape_of((const struct shape_column[]){ __VA_ARGS__ }, \
             sizeof((const struct shape_column[]){ __VA_ARGS__ }) / sizeof(struct shape_column))

static const struct shape_column id = COLUMN("id", "bigint", CELL_INT, KEY(1));

static bool fits(const struct shape *source, const struct shape *dest, const struct fit_wish *wish)
{
    buf_clear(&problems);
    return fit_make(source, dest, wish, &arena, &of_source, &of_dest, &problems);
}

/* It does not fit, for this one reason. */
static bool refuses(const struct shape *source, const struct shape *dest,
                    const struct fit_wish *wish, const char *why)
{
    of_source = NULL;
    bool refused = !fits(source, dest, wish) && of_source == NULL && problems.len > 0;

    if (refused && str_eq(str_mem(problems.ptr, problems.len - 1), str_of(why)) &&
        problems.ptr[problems.len - 1] == '\n')
        return true;
    printf("# %s", problems.ptr);
    return false;
}

static struct fit_wish wish_of(struct fit_wish_column column)
{
    struct fit_wish_column *c = ARENA_NEW(&arena, struct fit_wish_column);

    *c = column;
    return (struct fit_wish){ .columns = c, .count = 1 };
}

static struct fit_wish cast_of(const char *name, enum cell_type cast)
{
    return wish_of((struct fit_wish_column){ .name = str_of(name), .cast = cast, .digits = -1 });
}

static struct fit_wish round_of(const char *name, int digits)
{
    return wish_of((struct fit_wish_column){ .name = str_of(name), .digits = digits });
}

static struct fit_wish ignore_of(const char *name)
{
    return wish_of((struct fit_wish_column){ .name = str_of(name), .digits = -1, .ignore = true });
}

/* What travels of a column that is not in the key; CELL_TYPES: it does not fit. */
static enum cell_type travels(enum cell_type source, enum cell_type dest)
{
    const struct shape *from = SHAPE(id, COLUMN("v", "a", source)),
                       *to = SHAPE(id, COLUMN("v", "b", dest));

    return fits(from, to, NULL) ? of_source->columns[1].travels : CELL_TYPES;
}

static enum cell_type travels_in_key(enum cell_type source, enum cell_type dest)
{
    const struct shape *from = SHAPE(COLUMN("v", "a", source, KEY(1))),
                       *to = SHAPE(COLUMN("v", "b", dest, KEY(1)));

    return fits(from, to, NULL) ? of_source->columns[0].travels : CELL_TYPES;
}

TEST(fit_has_the_key_first_and_both_places)
{
    const struct shape *source =
        SHAPE(COLUMN("note", "text", CELL_TEXT, .nullable = true),
              COLUMN("sum", "int", CELL_INT, .generated = true),
              COLUMN("b", "char(4)", CELL_TEXT, KEY(2)), COLUMN("a", "uuid", CELL_UUID, KEY(1)),
              COLUMN("at", "timestamptz", CELL_INSTANT), COLUMN("search", "tsvector", CELL_NULL));
    const struct shape *dest = SHAPE(COLUMN("a", "uuid", CELL_UUID, KEY(1)),
                                     COLUMN("b", "char(4)", CELL_TEXT, KEY(2), .padded = true),
                                     COLUMN("extra", "text", CELL_TEXT, .nullable = true),
                                     COLUMN("filled", "text", CELL_TEXT, .has_default = true),
                                     COLUMN("at", "timestamptz", CELL_INSTANT),
                                     COLUMN("note", "text", CELL_TEXT, .nullable = true));
    struct fit_wish_column columns[] = { { .name = STR("search"), .digits = -1, .ignore = true },
                                         { .name = STR("at"), .digits = 3 } };
    struct fit_wish wish = { .columns = columns, .count = 2 };

    CHECK(fits(source, dest, &wish));
    CHECK(of_source->shape == source && of_dest->shape == dest);
    CHECK(of_source->count == 4 && of_dest->count == 4);
    CHECK(of_source->key_count == 2 && of_dest->key_count == 2);
    const char *names[] = { "a", "b", "note", "at" };
    size_t places[] = { 3, 2, 0, 4 }, dest_places[] = { 0, 1, 5, 4 };

    for (size_t i = 0; i < 4; i++) {
        const struct fit_column *s = &of_source->columns[i], *d = &of_dest->columns[i];

        CHECK(str_is(s->name, names[i]) && str_is(d->name, names[i]));
        CHECK(s->at == places[i] && d->at == dest_places[i] && s->travels == d->travels);
        CHECK(s->digits == (i == 3 ? 3 : -1) && d->digits == s->digits);
        CHECK(s->padded == (i == 1) && d->padded == s->padded);
    }
    CHECK(problems.len == 0);
}

TEST(fit_lets_travel_what_both_have)
{
    for (enum cell_type t = CELL_INT; t < CELL_TYPES; t++)
        CHECK(travels(t, t) == t);
    CHECK(travels(CELL_DEC, CELL_TEXT) == CELL_DEC);
    CHECK(travels(CELL_INSTANT, CELL_TEXT) == CELL_INSTANT);
    CHECK(travels(CELL_UUID, CELL_TEXT) == CELL_UUID);
    CHECK(travels(CELL_JSON, CELL_TEXT) == CELL_JSON);
    CHECK(travels(CELL_BOOL, CELL_INT) == CELL_INT);
    CHECK(travels(CELL_INT, CELL_DEC) == CELL_DEC);
    CHECK(travels(CELL_FLOAT, CELL_DEC) == CELL_DEC);
    CHECK(travels(CELL_INSTANT, CELL_LOCAL) == CELL_INSTANT);
    CHECK(travels(CELL_TEXT, CELL_BYTES) == CELL_TEXT);
    CHECK(travels(CELL_DATE, CELL_TEXT) == CELL_DATE);
}

/* Whatever fits without a cast goes there and comes back. */
TEST(fit_without_a_cast_is_safe)
{
    for (enum cell_type s = CELL_INT; s < CELL_TYPES; s++)
        for (enum cell_type d = CELL_INT; d < CELL_TYPES; d++) {
            enum cell_type t = travels(s, d);

            CHECK((t != CELL_TYPES) == cell_cast_is_safe(s, d));
            CHECK(t == CELL_TYPES || (cell_cast_is_safe(s, t) && (t == s || t == d)));
        }
}

TEST(fit_of_keys_keeps_their_order)
{
    CHECK(travels_in_key(CELL_INT, CELL_INT) == CELL_INT);
    CHECK(travels_in_key(CELL_INT, CELL_DEC) == CELL_INT);
    CHECK(travels_in_key(CELL_UUID, CELL_TEXT) == CELL_TEXT);
    CHECK(travels_in_key(CELL_UUID, CELL_BYTES) == CELL_BYTES);
    CHECK(travels_in_key(CELL_BOOL, CELL_INT) == CELL_INT);
    CHECK(travels_in_key(CELL_INSTANT, CELL_LOCAL) == CELL_LOCAL);
    CHECK(travels_in_key(CELL_INT, CELL_TEXT) == CELL_TYPES);
    CHECK(travels_in_key(CELL_INSTANT, CELL_TEXT) == CELL_TYPES);
    CHECK(travels_in_key(CELL_FLOAT, CELL_FLOAT) == CELL_TYPES);
    CHECK(travels_in_key(CELL_JSON, CELL_JSON) == CELL_TYPES);
    CHECK(travels_in_key(CELL_DEC, CELL_DEC) == CELL_TYPES);
}

TEST(fit_takes_the_cast_of_the_link)
{
    const struct shape *source = SHAPE(id, COLUMN("price", "numeric(12,2)", CELL_DEC)),
                       *dest = SHAPE(id, COLUMN("price", "REAL", CELL_FLOAT));
    struct fit_wish wish = cast_of("price", CELL_DEC);

    CHECK(refuses(source, dest, NULL,
                  "column price: numeric(12,2) at the source, REAL at the destination cannot hold "
                  "every value of it; say cast: { price: dec } or change the column"));
    CHECK(fits(source, dest, &wish) && of_dest->columns[1].travels == CELL_DEC);
    wish = cast_of("price", CELL_UUID);
    CHECK(
        refuses(source, dest, &wish,
                "column price: numeric(12,2) at the source, REAL at the destination cannot both be "
                "cast to what the link says; say cast: { price: dec } or change the column"));
    source = SHAPE(COLUMN("id", "numeric(10)", CELL_DEC, KEY(1)));
    CHECK(
        refuses(source, source, NULL,
                "column id: numeric(10) at the source, numeric(10) at the destination cannot be a "
                "key, or not in the same order on both sides; say cast: { id: int } or change the "
                "column"));
    wish = cast_of("id", CELL_INT);
    CHECK(fits(source, source, &wish) && of_source->columns[0].travels == CELL_INT);
    source = SHAPE(id, COLUMN("v", "text", CELL_TEXT));
    dest = SHAPE(id, COLUMN("v", "timestamptz", CELL_INSTANT));
    CHECK(refuses(source, dest, NULL,
                  "column v: text at the source, timestamptz at the destination cannot hold every "
                  "value of it; say cast: { v: instant } or change the column"));
    dest = SHAPE(id, COLUMN("v", "uuid", CELL_UUID));
    source = SHAPE(id, COLUMN("v", "json", CELL_JSON));
    CHECK(
        refuses(source, dest, NULL,
                "column v: json at the source, uuid at the destination cannot hold every value of "
                "it; say cast: { v: text } or change the column"));
    source = SHAPE(id, COLUMN("v", "json", CELL_JSON));
    dest = SHAPE(id, COLUMN("v", "bytea", CELL_BYTES));
    CHECK(refuses(source, dest, NULL,
                  "column v: json at the source, bytea at the destination cannot hold every value "
                  "of it; say cast: { v: text } or change the column"));
    dest = SHAPE(id, COLUMN("v", "bigint", CELL_INT));
    source = SHAPE(id, COLUMN("v", "bytea", CELL_BYTES));
    wish = cast_of("v", CELL_INSTANT);
    CHECK(refuses(source, dest, &wish,
                  "column v: bytea at the source, bigint at the destination cannot both be cast to "
                  "what the link says; say cast: { v: text } or change the column"));
}

TEST(fit_wants_the_same_key)
{
    const struct shape *with = SHAPE(id, COLUMN("b", "int", CELL_INT)),
                       *without =
                           SHAPE(COLUMN("id", "int", CELL_INT), COLUMN("b", "int", CELL_INT)),
                       *two = SHAPE(id, COLUMN("b", "int", CELL_INT, KEY(2))),
                       *turned = SHAPE(COLUMN("b", "int", CELL_INT, KEY(1)),
                                       COLUMN("id", "int", CELL_INT, KEY(2)));

    CHECK(
        refuses(without, with, NULL,
                "the table has no primary key at the source; give it one, or leave the table out"));
    CHECK(
        refuses(with, without, NULL,
                "the table has no primary key at the destination; give it one, or leave the table "
                "out"));
    CHECK(
        refuses(with, two, NULL,
                "the primary key is (id) at the source, (id, b) at the destination; make them the "
                "same columns in the same order"));
    CHECK(refuses(two, turned, NULL,
                  "the primary key is (id, b) at the source, (b, id) at the destination; make them "
                  "the same columns in the same order"));
    struct fit_wish wish = ignore_of("id");

    CHECK(refuses(with, with, &wish,
                  "column id: it is in the primary key and cannot be ignored; take it out of "
                  "`ignore`"));
    struct shape_column many[SHAPE_KEY_MOST + 1];

    for (size_t i = 0; i <= SHAPE_KEY_MOST; i++)
        many[i] = (struct shape_column)COLUMN("", "int", CELL_INT, .key_place = (int)i + 1);
    CHECK(!fits(shape_of(many, SHAPE_KEY_MOST + 1), with, NULL));
    CHECK(strstr(problems.ptr, "at the source has 17 columns; at most 16 are taken") != NULL);
}

TEST(fit_wants_keys_that_can_be_one)
{
    const struct shape *text = SHAPE(COLUMN("code", "text", CELL_TEXT, KEY(1))),
                       *nocase = SHAPE(COLUMN("code", "citext", CELL_TEXT, .key_place = 1)),
                       *real = SHAPE(COLUMN("code", "real", CELL_FLOAT, KEY(1))),
                       *computed =
                           SHAPE(COLUMN("code", "text", CELL_TEXT, KEY(1), .generated = true));

    CHECK(refuses(nocase, text, NULL,
                  "column code: text of a key must be compared byte by byte, and is not at the "
                  "source; give it such a collation (\"C\", BINARY, utf8mb4_nopad_bin)"));
    CHECK(refuses(text, nocase, NULL,
                  "column code: text of a key must be compared byte by byte, and is not at the "
                  "destination; give it such a collation (\"C\", BINARY, utf8mb4_nopad_bin)"));
    CHECK(
        refuses(real, real, NULL,
                "column code: real at the source, real at the destination cannot be a key, or not "
                "in the same order on both sides; change the column"));
    CHECK(refuses(computed, text, NULL,
                  "column code: the source computes it, and it is in the primary key; change the "
                  "key"));
    CHECK(refuses(text, computed, NULL,
                  "column code: the destination computes it itself; change the key"));
}

TEST(fit_wants_a_place_for_every_column)
{
    const struct shape *source = SHAPE(id, COLUMN("v", "int", CELL_INT, .nullable = true)),
                       *none = SHAPE(id), *strict = SHAPE(id, COLUMN("v", "int", CELL_INT)),
                       *computed = SHAPE(id, COLUMN("v", "int", CELL_INT, .generated = true)),
                       *odd = SHAPE(id, COLUMN("v", "geometry", CELL_NULL, .nullable = true)),
                       *more = SHAPE(id, COLUMN("v", "int", CELL_INT, .nullable = true),
                                     COLUMN("w", "int", CELL_INT));
    struct fit_wish wish = ignore_of("v");

    CHECK(refuses(source, none, NULL,
                  "column v: the destination has no such column; add it there or ignore it"));
    CHECK(fits(source, none, &wish) && of_source->count == 1);
    CHECK(
        refuses(source, strict, NULL,
                "column v: it may be NULL at the source, but not at the destination; change it on "
                "either side"));
    CHECK(fits(strict, source, NULL));
    CHECK(refuses(source, strict, &wish,
                  "column v: the destination needs a value and gets none, as the link ignores it; "
                  "give it a default there or let it be NULL"));
    CHECK(
        refuses(computed, strict, NULL,
                "column v: the destination needs a value and gets none, as the source computes it "
                "itself; give it a default there or let it be NULL"));
    CHECK(
        refuses(source, more, NULL,
                "column w: the destination needs a value and gets none, as the source has no such "
                "column; give it a default there or let it be NULL"));
    CHECK(
        refuses(source, computed, NULL, "column v: the destination computes it itself; ignore it"));
    CHECK(fits(computed, computed, NULL) && of_source->count == 1);
    CHECK(refuses(odd, source, NULL,
                  "column v: geometry at the source is a type that is not replicated; ignore the "
                  "column or change it"));
    CHECK(refuses(source, odd, NULL,
                  "column v: geometry at the destination is a type that is not replicated; ignore "
                  "the column or change it"));
    CHECK(fits(odd, odd, &wish));
    wish = cast_of("pricee", CELL_DEC);
    CHECK(
        refuses(source, source, &wish,
                "column pricee: the link names it, but the source has no such column; take it out "
                "of the link"));
    wish = ignore_of("w");
    CHECK(refuses(source, source, &wish,
                  "column w: the link names it, but the source has no such column; take it out of "
                  "the link"));
}

TEST(fit_tells_all_reasons_at_once)
{
    const struct shape *source =
        SHAPE(id, COLUMN("a", "int", CELL_INT), COLUMN("b", "int", CELL_INT));

    CHECK(!fits(source, SHAPE(id), NULL));
    CHECK(strcmp(problems.ptr,
                 "column a: the destination has no such column; add it there or ignore it\n"
                 "column b: the destination has no such column; add it there or ignore it\n") == 0);
}

TEST(fit_tells_digits_that_would_get_lost)
{
    const struct shape *four = SHAPE(id, COLUMN("v", "numeric(12,4)", CELL_DEC, .has_scale = true,
                                                .scale = 4)),
                       *two = SHAPE(id, COLUMN("v", "numeric(10,2)", CELL_DEC, .has_scale = true,
                                               .scale = 2)),
                       *any = SHAPE(id, COLUMN("v", "numeric", CELL_DEC)),
                       *whole = SHAPE(id, COLUMN("v", "bigint", CELL_INT)),
                       *micro = SHAPE(id, COLUMN("v", "timestamp", CELL_LOCAL)),
                       *second = SHAPE(id, COLUMN("v", "datetime", CELL_LOCAL, .has_scale = true)),
                       *real = SHAPE(id, COLUMN("v", "real", CELL_FLOAT, .single = true)),
                       *twice = SHAPE(id, COLUMN("v", "double", CELL_FLOAT));
    struct fit_wish seconds = round_of("v", 0), hundredths = round_of("v", 2),
                    thousandths = round_of("v", 3), cast = cast_of("v", CELL_DEC);

    CHECK(fits(two, four, NULL) && fits(four, any, NULL) && fits(four, four, NULL));
    CHECK(fits(whole, two, NULL) && fits(second, micro, NULL) && fits(real, twice, NULL));
    CHECK(refuses(four, two, NULL,
                  "column v: numeric(12,4) at the source has more digits behind the point than "
                  "numeric(10,2) at the destination keeps; change the column, or say "
                  "round: { v: 2 } if they do not matter"));
    CHECK(!fits(any, four, NULL) && !fits(micro, second, NULL) && !fits(twice, real, NULL));
    CHECK(fits(four, two, &hundredths) && !fits(four, two, &thousandths));
    CHECK(fits(micro, second, &seconds) && fits(any, two, &cast));
}

TEST(fit_of_too_many_columns_is_refused)
{
    struct shape_column *many = ARENA_ARRAY(&arena, struct shape_column, SHAPE_COLUMNS_MOST + 1);

    CHECK(refuses(shape_of(many, SHAPE_COLUMNS_MOST + 1), SHAPE(id), NULL,
                  "the table has more than 1000 columns; leave the table out"));
}

/* proves: S5 */
TEST(fit_tells_hostile_names_on_one_line)
{
    AUTO(buf_done) struct buf small = BUF_INIT(40);
    const struct shape *source = SHAPE(id, COLUMN("v\n\x1b[2J\"';", "int", CELL_INT));

    CHECK(refuses(source, SHAPE(id), NULL,
                  "column v??[2J\"';: the destination has no such column; add it there or ignore "
                  "it"));
    CHECK(!fit_make(source, SHAPE(id), NULL, &arena, &of_source, &of_dest, &small));
    CHECK(small.len == 0); /* no room for the line */
}

/* ---- shapes ---- */

TEST(shape_column_is_found_by_its_name)
{
    const struct shape *s = SHAPE(id, COLUMN("V", "int", CELL_INT));

    CHECK(shape_column(s, STR("V")) == &s->columns[1] && shape_column(s, STR("v")) == NULL);
}

int main(void)
{
    int result = test_main();

    buf_done(&problems);
    arena_done(&arena);
    return result;
}
