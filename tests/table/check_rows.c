/* check_rows.c - rows of a driver: values both ways, in order of the key, of some keys, of one
 * moment. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "scene.h"
#include "table/key.h"

/* ---- values ---- */

#define TIME_US(h, m, s, us) ((((h)*60LL + (m)) * 60 + (s)) * CLOCK_S + (us))

struct value {
    const char *column;
    struct cell cell;
    bool may_refuse; /* not every database has it */
};

#define AS_TEXT(type_, text)                              \
    {                                                     \
        .type = (type_), .s = {(text), sizeof(text) - 1 } \
    }
#define AS_INT(type_, i_)          \
    {                              \
        .type = (type_), .i = (i_) \
    }
#define AS_FLOAT(f_)                  \
    {                                 \
        .type = CELL_FLOAT, .f = (f_) \
    }

static const struct value values[] = {
    { "c_int", AS_INT(CELL_INT, INT64_MAX), false },
    { "c_int", AS_INT(CELL_INT, INT64_MIN), false },
    { "c_int", AS_INT(CELL_INT, 0), false },
    { "c_dec", AS_TEXT(CELL_DEC, "0"), false },
    { "c_dec", AS_TEXT(CELL_DEC, "-1.1"), false },
    { "c_dec", AS_TEXT(CELL_DEC, "12345678901234567890.1234567890123456789"), false },
    { "c_dec", AS_TEXT(CELL_DEC, "NaN"), true },
    { "c_dec",
      AS_TEXT(CELL_DEC, "1234567890123456789012345678901234567890123456789012345678901234"), true },
    { "c_short", AS_TEXT(CELL_DEC, "1.1"), false },
    { "c_short", AS_TEXT(CELL_DEC, "-9999999999.99"), false },
    { "c_short", AS_TEXT(CELL_DEC, "100"), false },
    { "c_short", AS_TEXT(CELL_DEC, "12345678901234567.5"), true },
    { "c_float", AS_FLOAT(0), false },
    { "c_float", AS_FLOAT(0.1), false },
    { "c_float", AS_FLOAT(-1.7976931348623157e308), false },
    { "c_float", AS_FLOAT(5e-324), true },
    { "c_float", AS_FLOAT(NAN), true },
    { "c_float", AS_FLOAT(INFINITY), true },
    { "c_text", AS_TEXT(CELL_TEXT, ""), false },
    { "c_text", AS_TEXT(CELL_TEXT, "  x  "), false },
    { "c_text", AS_TEXT(CELL_TEXT, "00012"), false },
    { "c_text", AS_TEXT(CELL_TEXT, "'\"\\%_\n\t\x01"), false },
    { "c_text", AS_TEXT(CELL_TEXT, "\xc3\xa4\xe2\x82\xac\xf0\x9d\x84\x9e"), false },
    { "c_bytes", AS_TEXT(CELL_BYTES, ""), false },
    { "c_bytes", AS_TEXT(CELL_BYTES, "\0\xff'\\x\0"), false },
    { "c_bool", AS_INT(CELL_BOOL, 1), false },
    { "c_bool", AS_INT(CELL_BOOL, 0), false },
    { "c_instant", AS_INT(CELL_INSTANT, 1700000000123456), false },
    { "c_instant", AS_INT(CELL_INSTANT, 1700000000000000), false },
    { "c_instant", AS_INT(CELL_INSTANT, -1), true },
    { "c_instant", AS_INT(CELL_INSTANT, CELL_FOREVER), true },
    { "c_local", AS_INT(CELL_LOCAL, 1700000000123456), false },
    { "c_local", AS_INT(CELL_LOCAL, 1700000000100000), false },
    { "c_local", AS_INT(CELL_LOCAL, -1), false },
    { "c_local", AS_INT(CELL_LOCAL, 253402300799999999), false },
    { "c_local", AS_INT(CELL_LOCAL, CELL_NEVER), true },
    { "c_date", AS_INT(CELL_DATE, 0), false },
    { "c_date", AS_INT(CELL_DATE, -719000), true },
    { "c_date", AS_INT(CELL_DATE, 20000), false },
    { "c_date", AS_INT(CELL_DATE, CELL_FOREVER), true },
    { "c_time", AS_INT(CELL_TIME, 0), false },
    { "c_time", AS_INT(CELL_TIME, TIME_US(23, 59, 59, 999999)), false },
    { "c_uuid",
      AS_TEXT(CELL_UUID, "\x12\x3e\x45\x67\xe8\x9b\x12\xd3\xa4\x56\x42\x66\x14\x17\x40\xff"),
      false },
    { "c_uuid", AS_TEXT(CELL_UUID, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), true },
    { "c_json", AS_TEXT(CELL_JSON, "{\"a\":[1,2.5,null,true],\"\xc3\xa4\":\"x\"}"), false },
    { "c_json", AS_TEXT(CELL_JSON, "12"), false },
    { "c_json", AS_TEXT(CELL_JSON, "\"12\""), false },
    { "c_json", AS_TEXT(CELL_JSON, "[12345678901234567890.123]"), true },
};

enum { VALUES = sizeof values / sizeof values[0] };

/* A row with one value, the others NULL.  True: it was written. */
static bool value_write(struct scene *s, const struct fit *fit, int64_t id, const struct value *v)
{
    struct cell *cells = ARENA_ARRAY(&s->a, struct cell, fit->count);
    size_t at = scene_at(fit, v->column);
    struct err err = { 0 };

    if (!EXPECT(s, at < fit->count))
        return false;
    cells[0] = cell_int(id);
    bool ok = cell_cast(&v->cell, fit->shape->columns[fit->columns[at].at].natural, &s->a,
                        &cells[at], &err) &&
              s->type->begin(s->one, DATABASE_WRITE, &err);

    if (ok && (!s->type->upsert(s->one, fit, cells, 1, &err) || !s->type->commit(s->one, &err))) {
        s->type->rollback(s->one);
        ok = false;
    }
    if (!ok && (!v->may_refuse || err.kind != ERR_PERMANENT))
        scene_fail(s, v->column, (int)id, "a value is refused", &err);
    return ok;
}

static void value_compare(struct scene *s, const struct scene_rows *rows, size_t n,
                          const struct value *v)
{
    const struct cell *is = &rows->cells[n * rows->fit->count + scene_at(rows->fit, v->column)];
    struct err err = { 0 };
    struct cell one, same;

    if (!cell_cast(is, v->cell.type, &s->a, &same, &err) ||
        !cell_cast(&v->cell, v->cell.type, &s->a, &one, &err) || !cell_same(&same, &one)) {
        struct str was = cell_text(&v->cell, 60, &s->a), now = cell_text(is, 60, &s->a);

        scene_fail(s, v->column, (int)n,
                   arena_printf(&s->a, "%.*s comes back as %.*s", STR_ARG(was), STR_ARG(now)),
                   err.kind != ERR_NONE ? &err : NULL);
    }
}

static void check_values(struct scene *s)
{
    bool written[VALUES];
    struct scene_rows rows;
    struct fit *fit = NULL;
    size_t n = 0;

    if (!scene_run(s, s->one, s->dialect->types) || (fit = scene_fit(s, "driver_types")) == NULL)
        return;
    for (size_t i = 0; i < fit->count; i++)
        if (!EXPECT(s, fit->columns[i].travels != CELL_NULL))
            return;
    for (size_t i = 0; i < VALUES; i++)
        written[i] = value_write(s, fit, (int64_t)i + 1, &values[i]);
    if (!scene_read(s, s->two, fit, NULL, NULL, SIZE_MAX, &rows))
        return;
    for (size_t i = 0; i < VALUES; i++)
        if (written[i] && EXPECT(s, n < rows.count) &&
            EXPECT(s, rows.cells[n * fit->count].i == (int64_t)i + 1))
            value_compare(s, &rows, n++, &values[i]);
    EXPECT(s, n == rows.count);
}

static void check_natural_types(struct scene *s)
{
    static const struct {
        const char *column;
        enum cell_type type;
    } want[] = { { "id", CELL_INT },
                 { "c_int", CELL_INT },
                 { "c_dec", CELL_DEC },
                 { "c_float", CELL_FLOAT },
                 { "c_text", CELL_TEXT },
                 { "c_bytes", CELL_BYTES },
                 { "c_instant", CELL_INSTANT },
                 { "c_local", CELL_LOCAL },
                 { "c_date", CELL_DATE },
                 { "c_time", CELL_TIME },
                 { "c_uuid", CELL_UUID },
                 { "c_json", CELL_JSON },
                 { "c_short", CELL_DEC } };
    struct fit *fit = scene_fit(s, "driver_types");

    for (size_t i = 0; fit != NULL && i < sizeof want / sizeof *want; i++)
        if (fit->columns[scene_at(fit, want[i].column)].travels != want[i].type)
            scene_fail(s, want[i].column, 0, "is of another type", NULL);
}

static void check_replaced(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_types");
    struct scene_rows rows;

    if (fit == NULL)
        return;
    struct cell *cells = ARENA_ARRAY(&s->a, struct cell, 2 * fit->count);
    size_t at = scene_at(fit, "c_text");

    cells[0] = cell_int(1);
    cells[at] = cell_of(CELL_TEXT, "now");
    cells[fit->count] = cell_int(5000);
    struct cell before = cell_int(4999), upto = cell_int(5000), none = cell_int(0);

    if (!scene_write(s, s->one, fit, cells, 2) ||
        !scene_read(s, s->one, fit, &none, &cells[0], SIZE_MAX, &rows) ||
        !EXPECT(s, rows.count == 1))
        return;
    EXPECT(s, str_is(rows.cells[at].s, "now"));
    EXPECT(s, rows.cells[scene_at(fit, "c_int")].type == CELL_NULL);
    (void)(scene_read(s, s->one, fit, &before, &upto, SIZE_MAX, &rows) &&
           EXPECT(s, rows.count == 1));
}

static void check_large_values(struct scene *s)
{
    enum { LARGE = 3 << 20 };
    struct fit *fit = scene_fit(s, "driver_types");
    struct scene_rows rows;

    if (fit == NULL)
        return;
    char *bytes = arena_alloc(&s->a, LARGE);
    struct cell *cells = ARENA_ARRAY(&s->a, struct cell, fit->count), after = cell_int(5999);
    size_t text = scene_at(fit, "c_text"), binary = scene_at(fit, "c_bytes");

    memset(bytes, 'x', LARGE);
    cells[0] = cell_int(6000);
    cells[text] = (struct cell){ .type = CELL_TEXT, .s = str_mem(bytes, LARGE) };
    cells[binary] = (struct cell){ .type = CELL_BYTES, .s = str_mem(bytes, LARGE) };
    if (scene_write(s, s->one, fit, cells, 1) &&
        scene_read(s, s->one, fit, &after, NULL, 1, &rows) && EXPECT(s, rows.count == 1)) {
        EXPECT(s, str_eq(rows.cells[text].s, cells[text].s));
        EXPECT(s, str_eq(rows.cells[binary].s, cells[binary].s));
    }
}

/* ---- order ---- */

static struct str row_key(struct scene *s, const struct scene_rows *r, size_t n)
{
    struct buf key = BUF_INIT(SHAPE_KEY_BYTES);

    (void)WORKS(s, key_put(&key, &r->cells[n * r->fit->count], r->fit->key_count, &err));
    struct str copy = arena_copy(&s->a, buf_view(&key));

    buf_done(&key);
    return copy;
}

static void rows_are_in_order(struct scene *s, const struct scene_rows *r, size_t count)
{
    EXPECT(s, r->count == count);
    for (size_t i = 1; i < r->count; i++)
        if (!EXPECT(s, str_cmp(row_key(s, r, i - 1), row_key(s, r, i)) < 0))
            return;
}

static const char *const texts[] = { "",
                                     " ",
                                     "a",
                                     "aa",
                                     "a ",
                                     "A",
                                     "b",
                                     "Z",
                                     "ab",
                                     "a\x01",
                                     "0",
                                     "00",
                                     "-",
                                     "\xc3\xa4",
                                     "\xef\xbf\xbd",
                                     "\xf0\x9d\x84\x9e",
                                     "\xe2\x82\xac",
                                     "'",
                                     "\\",
                                     "') OR true --",
                                     "$1",
                                     "{\"a\",NULL}",
                                     "%s\t\n" };

enum { TEXTS = sizeof texts / sizeof texts[0], PAIRS = 3 * TEXTS };
_Static_assert((int)TEXTS == (int)SCENE_TEXTS, "each with every a");

static bool pairs_fill(struct scene *s, struct fit *fit)
{
    struct cell *cells = ARENA_ARRAY(&s->a, struct cell, (size_t)PAIRS * 3);

    for (size_t i = 0; i < PAIRS; i++) {
        cells[i * 3] = cell_int((int64_t)(i % 3) - 1);
        cells[i * 3 + 1] = cell_of(CELL_TEXT, texts[i * 7 % TEXTS]);
        cells[i * 3 + 2] = cell_of(CELL_TEXT, "v");
    }
    return scene_write(s, s->one, fit, cells, PAIRS);
}

static void check_order_of_text(struct scene *s)
{
    struct scene_rows rows, piece;
    struct fit *fit;

    if (!scene_run(s, s->one, s->dialect->pairs) || (fit = scene_fit(s, "driver_pairs")) == NULL ||
        !EXPECT(s, fit->key_count == 2) ||
        !EXPECT(s, fit->shape->columns[fit->columns[1].at].bytewise) || !pairs_fill(s, fit) ||
        !scene_read(s, s->one, fit, NULL, NULL, SIZE_MAX, &rows))
        return;
    rows_are_in_order(s, &rows, PAIRS);
    for (size_t i = 0; i < rows.count; i++) {
        size_t to = i + 7 < rows.count ? i + 7 : rows.count - 1;

        if (!scene_read(s, s->one, fit, &rows.cells[i * 3], &rows.cells[to * 3], SIZE_MAX,
                        &piece) ||
            !EXPECT(s, piece.count == to - i) ||
            !scene_read(s, s->one, fit, &rows.cells[i * 3], NULL, 2, &piece) ||
            !EXPECT(s, piece.count == (rows.count - 1 - i < 2 ? rows.count - 1 - i : 2)))
            return;
        if (piece.count > 0)
            EXPECT(s, str_eq(row_key(s, &piece, 0), row_key(s, &rows, i + 1)));
        if (!scene_read(s, s->one, fit, NULL, &rows.cells[i * 3], SIZE_MAX, &piece) ||
            !EXPECT(s, piece.count == i + 1))
            return;
    }
}

static void order_of(struct scene *s, const char *sql, const char *table, enum cell_type type)
{
    struct scene_rows rows;
    struct cell cells[64];
    char keys[32][16];
    struct fit *fit;

    if (!scene_run(s, s->one, sql) || (fit = scene_fit(s, table)) == NULL)
        return;
    for (size_t i = 0; i < 32; i++) {
        for (size_t n = 0; n < 16; n++)
            keys[i][n] = (char)((i * 37 + n * (i % 5) * 53) & 0xff);
        if (type == CELL_UUID) /* MariaDB takes those that RFC 9562 knows */
            keys[i][8] = (char)((keys[i][8] & 0x3f) | 0x80);
        cells[i * 2] = (struct cell){ .type = type,
                                      .s = str_mem(keys[i], type == CELL_UUID ? 16 : 1 + i % 16) };
        cells[i * 2 + 1] = cell_of(CELL_TEXT, "v");
    }
    if (scene_write(s, s->one, fit, cells, 32) &&
        scene_read(s, s->one, fit, NULL, NULL, SIZE_MAX, &rows)) {
        struct scene_rows piece;

        rows_are_in_order(s, &rows, 32);
        if (scene_read(s, s->one, fit, &rows.cells[9 * 2], &rows.cells[19 * 2], SIZE_MAX, &piece))
            rows_are_in_order(s, &piece, 10);
    }
}

static void check_order_of_bytes(struct scene *s)
{
    order_of(s, s->dialect->bytes, "driver_bytes", CELL_BYTES);
}

static void check_order_of_uuids(struct scene *s)
{
    order_of(s, s->dialect->uuids, "driver_uuids", CELL_UUID);
}

static const struct {
    int64_t day, instant, time;
    bool endless;
} times[] = {
    { 0, 1700000000123456, 0, false },
    { 0, 1700000000123457, 0, false },
    { 0, 1700000000123457, 1, false },
    { 20000, 1000000, TIME_US(23, 59, 59, 999999), false },
    { 20000, 1700000000000000, TIME_US(12, 0, 0, 0), false },
    { 20001, 1000000, 0, false },
    { CELL_FOREVER, CELL_NEVER, 0, true },
    { CELL_NEVER, CELL_FOREVER, TIME_US(24, 0, 0, 0) - 1, true },
    { -2400000, -200000000000000000, 5, true }, /* some thousand years before our time */
    { 80000000, 9000000000000000000, 5, true }, /* 200000 years behind it */
};

enum { TIMES = sizeof times / sizeof times[0] };

static void check_order_of_times(struct scene *s)
{
    struct cell cells[TIMES * 4];
    struct scene_rows rows, piece;
    struct fit *fit;
    size_t n = 0;

    if (s->dialect->times == NULL || !scene_run(s, s->one, s->dialect->times) ||
        (fit = scene_fit(s, "driver_times")) == NULL || !EXPECT(s, fit->key_count == 3))
        return;
    for (size_t i = 0; i < TIMES; i++) {
        if (times[i].endless && !s->dialect->endless)
            continue;
        cells[n++] = (struct cell){ .type = CELL_DATE, .i = times[i].day };
        cells[n++] = (struct cell){ .type = CELL_INSTANT, .i = times[i].instant };
        cells[n++] = (struct cell){ .type = CELL_TIME, .i = times[i].time };
        cells[n++] = cell_of(CELL_TEXT, "v");
    }
    if (!scene_write(s, s->one, fit, cells, n / 4) ||
        !scene_read(s, s->one, fit, NULL, NULL, SIZE_MAX, &rows))
        return;
    rows_are_in_order(s, &rows, n / 4);
    for (size_t i = 0; i < rows.count; i++)
        for (size_t to = i; to < rows.count; to++)
            if (!scene_read(s, s->one, fit, &rows.cells[i * 4], &rows.cells[to * 4], SIZE_MAX,
                            &piece) ||
                !EXPECT(s, piece.count == to - i))
                return;
}

/* ---- many rows ---- */

enum { MANY = 6000, MANY_PART = 1000, MANY_TEXT = 3000, ONE_LARGE = 2500, LARGE_TEXT = 20 << 20 };

struct many_reading {
    int64_t last;
    size_t seen, end_at; /* it ends there; 0: not at all */
    size_t large;        /* the length of the text of that row */
    bool fails, odd;
};

static bool many_take(void *arg, const struct cell *cells, struct err *err)
{
    struct many_reading *m = arg;

    m->odd = m->odd || cells[0].i != m->last + 1;
    m->last = cells[0].i;
    if (m->last == ONE_LARGE)
        m->large = cells[1].s.len;
    if (++m->seen != m->end_at)
        return true;
    return m->fails && err_set(err, ERR_LIMIT, 0, "no more of them");
}

static bool many_fill(struct scene *s, struct fit *fit)
{
    struct cell *cells = ARENA_ARRAY(&s->a, struct cell, (size_t)MANY_PART * 2);
    char *text = arena_alloc(&s->a, LARGE_TEXT);

    memset(text, 'x', LARGE_TEXT);
    for (int64_t at = 0; at < MANY; at += MANY_PART) {
        for (size_t i = 0; i < MANY_PART; i++) {
            int64_t id = at + (int64_t)i + 1;

            cells[2 * i] = cell_int(id);
            cells[2 * i + 1] =
                (struct cell){ .type = CELL_TEXT,
                               .s = str_mem(text, id == ONE_LARGE ? LARGE_TEXT : MANY_TEXT) };
        }
        if (!scene_write(s, s->one, fit, cells, MANY_PART))
            return false;
    }
    return true;
}

static bool many_read(struct scene *s, const struct fit *fit, size_t most, struct many_reading *m)
{
    return WORKS(s, s->type->rows(s->one, fit, NULL, NULL, most, many_take, m, &err)) &&
           EXPECT(s, !m->odd);
}

/* More of them than any driver reads at once, with one among them that is larger. */
static void check_many_rows(struct scene *s)
{
    static const size_t some[] = { 1, 999, 1000, 1001, 4000, MANY - 1 };
    struct many_reading m = { 0 };
    struct fit *fit;
    int64_t count = 0;

    if (!scene_run(s, s->one, s->dialect->rows) || (fit = scene_fit(s, "driver_rows")) == NULL ||
        !many_fill(s, fit) || !WORKS(s, s->type->begin(s->one, DATABASE_SNAPSHOT, &err)) ||
        !many_read(s, fit, SIZE_MAX, &m))
        return;
    EXPECT(s, m.seen == MANY && m.large == LARGE_TEXT);
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        struct many_reading at_most = { 0 }, ended = { .end_at = some[i] };

        if (!many_read(s, fit, some[i], &at_most) || !EXPECT(s, at_most.seen == some[i]) ||
            !many_read(s, fit, SIZE_MAX, &ended) || !EXPECT(s, ended.seen == some[i]) ||
            !WORKS(s, s->type->count(s->one, fit, &count, &err)) || !EXPECT(s, count == MANY))
            return;
    }
    (void)WORKS(s, s->type->commit(s->one, &err));
}

static void check_many_rows_that_fail(struct scene *s)
{
    static const size_t some[] = { 1, 1001, ONE_LARGE };
    struct fit *fit = scene_fit(s, "driver_rows");

    for (size_t i = 0; fit != NULL && i < sizeof some / sizeof some[0]; i++) {
        struct many_reading m = { .end_at = some[i], .fails = true }, again = { .end_at = 3 };

        if (!WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) ||
            !FAILS(s, ERR_LIMIT,
                   s->type->rows(s->one, fit, NULL, NULL, SIZE_MAX, many_take, &m, &err)) ||
            !EXPECT(s, m.seen == some[i] && !s->type->broken(s->one)))
            return;
        s->type->rollback(s->one);
        if (!WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) ||
            !many_read(s, fit, SIZE_MAX, &again))
            return;
        s->type->rollback(s->one);
    }
}

static bool retyped_take(void *arg, const struct cell *cells, struct err *err)
{
    bool *fine = arg;

    (void)err;
    *fine = cells[1].type == CELL_FLOAT && cells[1].f == 1.5;
    return false;
}

/* A value is what the column is now, and not what it was when it was described. */
static void check_another_type(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_rows");
    bool fine = false;

    if (fit == NULL || s->dialect->retype == NULL || !scene_run(s, s->one, s->dialect->retype) ||
        !WORKS(s, s->type->begin(s->two, DATABASE_READ, &err)))
        return;
    (void)WORKS(s, s->type->rows(s->two, fit, NULL, NULL, SIZE_MAX, retyped_take, &fine, &err));
    EXPECT(s, fine);
}

/* ---- some keys, all of them ---- */

static void check_rows_of(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_pairs");
    struct scene_rows rows = { .fit = fit, .s = s };
    struct cell keys[6] = { cell_int(-1), cell_of(CELL_TEXT, "a "),
                            cell_int(77), cell_of(CELL_TEXT, "a"),
                            cell_int(1),  cell_of(CELL_TEXT, "") };
    int64_t count = -1;

    if (fit == NULL || !WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) ||
        !WORKS(s, s->type->rows_of(s->one, fit, keys, 3, scene_take_row, &rows, &err)) ||
        !WORKS(s, s->type->count(s->one, fit, &count, &err)) ||
        !WORKS(s, s->type->commit(s->one, &err)))
        return;
    EXPECT(s, rows.count == 2);
    EXPECT(s, count == PAIRS);
    for (size_t i = 0; i < rows.count; i++)
        EXPECT(s,
               cell_same(&rows.cells[i * 3], &keys[0]) || cell_same(&rows.cells[i * 3], &keys[4]));
}

static bool stops_at_two(void *arg, const struct cell *cells, struct err *err)
{
    size_t *seen = arg;

    (void)cells;
    (void)err;
    return ++*seen < 2;
}

static bool fails_at_two(void *arg, const struct cell *cells, struct err *err)
{
    return stops_at_two(arg, cells, err) || err_set(err, ERR_LIMIT, 0, "two are enough");
}

static void check_reading_that_ends(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_pairs");
    size_t seen = 0;
    int64_t count;

    if (fit == NULL || !WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)))
        return;
    (void)WORKS(s, s->type->rows(s->one, fit, NULL, NULL, SIZE_MAX, stops_at_two, &seen, &err));
    EXPECT(s, seen == 2);
    (void)WORKS(s, s->type->count(s->one, fit, &count, &err));
    seen = 0;
    (void)FAILS(s, ERR_LIMIT,
                s->type->rows(s->one, fit, NULL, NULL, SIZE_MAX, fails_at_two, &seen, &err));
    s->type->rollback(s->one);
    (void)(WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) &&
           WORKS(s, s->type->count(s->one, fit, &count, &err)));
}

static void check_snapshot(struct scene *s)
{
    struct fit *fit;
    int64_t before = 0, now = 0;

    if (!scene_run(s, s->one, s->dialect->notes) || (fit = scene_fit(s, "driver_notes")) == NULL ||
        !scene_note(s, s->two, fit, 1, "one") ||
        !WORKS(s, s->type->begin(s->one, DATABASE_SNAPSHOT, &err)) ||
        !WORKS(s, s->type->count(s->one, fit, &before, &err)) ||
        !scene_note(s, s->two, fit, 2, "two") ||
        !WORKS(s, s->type->count(s->one, fit, &now, &err)) ||
        !WORKS(s, s->type->commit(s->one, &err)))
        return;
    EXPECT(s, before == 1 && now == 1);
    if (WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) &&
        WORKS(s, s->type->count(s->one, fit, &now, &err)))
        EXPECT(s, now == 2);
    if (scene_note(s, s->two, fit, 3, "three") && WORKS(s, s->type->count(s->one, fit, &now, &err)))
        EXPECT(s, now == 3);
}

const struct check checks_of_rows[] = {
    { "values of every type, both ways", check_values },
    { "natural types", check_natural_types },
    { "a row that is there is replaced as a whole", check_replaced },
    { "values of some MiB", check_large_values },
    { "keys of a number and a text are in order, and ranges of them", check_order_of_text },
    { "keys of bytes are in order", check_order_of_bytes },
    { "uuids are in order of their bytes", check_order_of_uuids },
    { "keys of times are in order, and ranges of them", check_order_of_times },
    { "many rows, all, some of them, and up to where one ends", check_many_rows },
    { "many rows of which one fails", check_many_rows_that_fail },
    { "a column that has become of another type", check_another_type },
    { "rows of some keys, and how many there are", check_rows_of },
    { "reading that ends early, or fails", check_reading_that_ends },
    { "a snapshot sees one moment", check_snapshot },
    { 0 }
};
