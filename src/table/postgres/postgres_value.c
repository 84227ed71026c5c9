/* postgres_value.c - values of PostgreSQL in binary form, as cells and back.
 *
 * Times count from 2000 there and from 1970 here.  A time that has no cell is given as a text,
 * which no cast takes: so its row is told, and the others travel.
 */
#include <endian.h>
#include <math.h>
#include <string.h>

#include "base/require.h"
#include "table/postgres/postgres.h"

#define EPOCH_US   INT64_C(946684800000000) /* 2000-01-01, since 1970 */
#define EPOCH_DAYS 10957

enum { JSONB_VERSION = 1 };

static const struct {
    Oid type, array;
    enum cell_type natural;
    const char *name;
} postgres_types[] = {
    { TYPE_BOOL, 1000, CELL_BOOL, "pg_catalog.bool" },
    { TYPE_BYTEA, 1001, CELL_BYTES, "pg_catalog.bytea" },
    { TYPE_NAME, 1003, CELL_TEXT, "pg_catalog.name" },
    { TYPE_INT8, 1016, CELL_INT, "pg_catalog.int8" },
    { TYPE_INT2, 1005, CELL_INT, "pg_catalog.int2" },
    { TYPE_INT4, 1007, CELL_INT, "pg_catalog.int4" },
    { TYPE_TEXT, 1009, CELL_TEXT, "pg_catalog.text" },
    { TYPE_JSON, 199, CELL_JSON, "pg_catalog.json" },
    { TYPE_FLOAT4, 1021, CELL_FLOAT, "pg_catalog.float4" },
    { TYPE_FLOAT8, 1022, CELL_FLOAT, "pg_catalog.float8" },
    { TYPE_BPCHAR, 1014, CELL_TEXT, "pg_catalog.bpchar" },
    { TYPE_VARCHAR, 1015, CELL_TEXT, "pg_catalog.varchar" },
    { TYPE_DATE, 1182, CELL_DATE, "pg_catalog.date" },
    { TYPE_TIME, 1183, CELL_TIME, "pg_catalog.time" },
    { TYPE_TIMESTAMP, 1115, CELL_LOCAL, "pg_catalog.timestamp" },
    { TYPE_TIMESTAMPTZ, 1185, CELL_INSTANT, "pg_catalog.timestamptz" },
    { TYPE_NUMERIC, 1231, CELL_DEC, "pg_catalog.numeric" },
    { TYPE_UUID, 2951, CELL_UUID, "pg_catalog.uuid" },
    { TYPE_JSONB, 3807, CELL_JSON, "pg_catalog.jsonb" },
};
enum { TYPES = sizeof postgres_types / sizeof postgres_types[0] };

enum cell_type postgres_natural(Oid type, bool is_enum)
{
    for (size_t i = 0; i < TYPES; i++)
        if (postgres_types[i].type == type)
            return postgres_types[i].natural;
    return is_enum ? CELL_TEXT : CELL_NULL;
}

Oid postgres_array_of(Oid type)
{
    for (size_t i = 0; i < TYPES; i++)
        if (postgres_types[i].type == type)
            return postgres_types[i].array;
    return 0;
}

const char *postgres_type_name(Oid type)
{
    for (size_t i = 0; i < TYPES; i++)
        if (postgres_types[i].type == type)
            return postgres_types[i].name;
    return NULL;
}

/* ---- from the server ---- */

struct str postgres_text(const PGresult *row, int column)
{
    return str_mem(PQgetvalue(row, 0, column), (size_t)PQgetlength(row, 0, column));
}

/* Big-endian, of 1, 2, 4 or 8 bytes. */
static int64_t postgres_number(struct str bytes)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (bytes.len) {
    case sizeof eight:
        memcpy(&eight, bytes.ptr, sizeof eight);
        return (int64_t)be64toh(eight);
    case sizeof four:
        memcpy(&four, bytes.ptr, sizeof four);
        return (int32_t)be32toh(four);
    case sizeof two:
        memcpy(&two, bytes.ptr, sizeof two);
        return (int16_t)be16toh(two);
    default:
        return bytes.len == 1 ? (signed char)bytes.ptr[0] : 0;
    }
}

int64_t postgres_int(const PGresult *row, int column)
{
    return postgres_number(postgres_text(row, column));
}

bool postgres_bool(const PGresult *row, int column)
{
    return postgres_int(row, column) != 0;
}

static struct cell postgres_no_time(void)
{
    return (struct cell){ .type = CELL_TEXT, .s = STR("a time that is too late") };
}

static struct cell postgres_time_cell(enum cell_type type, int64_t v)
{
    if (v != INT64_MAX && v != INT64_MIN && __builtin_add_overflow(v, EPOCH_US, &v))
        return postgres_no_time();
    return (struct cell){ .type = type, .i = v };
}

static struct cell postgres_date_cell(int64_t v)
{
    if (v == INT32_MAX)
        return (struct cell){ .type = CELL_DATE, .i = CELL_FOREVER };
    if (v == INT32_MIN)
        return (struct cell){ .type = CELL_DATE, .i = CELL_NEVER };
    return (struct cell){ .type = CELL_DATE, .i = v + EPOCH_DAYS };
}

static struct cell postgres_float_cell(struct str bytes)
{
    struct cell c = { .type = CELL_FLOAT };

    if (bytes.len == sizeof(float)) {
        uint32_t bits = (uint32_t)postgres_number(bytes);
        float f;

        memcpy(&f, &bits, sizeof f);
        c.f = (double)f;
    } else {
        int64_t bits = postgres_number(bytes);

        memcpy(&c.f, &bits, sizeof c.f);
    }
    return c;
}

struct cell postgres_value(struct postgres *p, const struct postgres_field *f, struct str bytes)
{
    switch (f->natural) {
    case CELL_INT:
    case CELL_BOOL:
    case CELL_TIME:
        return (struct cell){ .type = f->natural, .i = postgres_number(bytes) };
    case CELL_FLOAT:
        return postgres_float_cell(bytes);
    case CELL_INSTANT:
    case CELL_LOCAL:
        return postgres_time_cell(f->natural, postgres_number(bytes));
    case CELL_DATE:
        return postgres_date_cell(postgres_number(bytes));
    case CELL_DEC:
        bytes = postgres_numeric_text(bytes, &p->row);
        if (bytes.ptr == NULL)
            return (struct cell){ .type = CELL_TEXT, .s = STR("a number that cannot be read") };
        break;
    case CELL_JSON:
        if (f->type == TYPE_JSONB)
            bytes = str_from(bytes, 1);
        break;
    default:
        break;
    }
    return (struct cell){ .type = f->natural, .s = bytes };
}

struct postgres_field postgres_field(const PGresult *result, int column)
{
    Oid type = PQftype(result, column);

    return (struct postgres_field){ .type = type, .natural = postgres_natural(type, true) };
}

struct cell postgres_cell(struct postgres *p, const PGresult *row, int column)
{
    const struct postgres_field f = postgres_field(row, column);

    if (PQgetisnull(row, 0, column))
        return (struct cell){ .type = CELL_NULL };
    return postgres_value(p, &f, postgres_text(row, column));
}

/* ---- to the server ---- */

static bool postgres_put_number(struct buf *to, int64_t v, size_t size, struct err *err)
{
    uint64_t big = htobe64((uint64_t)v);

    if (size < 8 && (v > (INT64_C(1) << (8 * size - 1)) - 1 || v < -(INT64_C(1) << (8 * size - 1))))
        return err_set(err, ERR_PERMANENT, 0, "a number is too large for its column");
    return buf_append(to, str_mem((const char *)&big + sizeof big - size, size), err);
}

static bool postgres_put_float(struct buf *to, double f, size_t size, struct err *err)
{
    int64_t bits;

    if (size == sizeof(float)) {
        float small = (float)f;
        int32_t half;

        if (isinf(small) && !isinf(f))
            return err_set(err, ERR_PERMANENT, 0, "a number is too large for its column");
        memcpy(&half, &small, sizeof half);
        return postgres_put_number(to, half, size, err);
    }
    memcpy(&bits, &f, sizeof bits);
    return postgres_put_number(to, bits, size, err);
}

static bool postgres_put_time(struct buf *to, int64_t v, struct err *err)
{
    if (v != CELL_FOREVER && v != CELL_NEVER && __builtin_sub_overflow(v, EPOCH_US, &v))
        return err_set(err, ERR_PERMANENT, 0, "a time is too early for its column");
    return postgres_put_number(to, v, 8, err);
}

static bool postgres_put_date(struct buf *to, int64_t v, struct err *err)
{
    if (v == CELL_FOREVER || v == CELL_NEVER)
        return postgres_put_number(to, v == CELL_FOREVER ? INT32_MAX : INT32_MIN, 4, err);
    if (v > INT32_MAX / 2 || v < INT32_MIN / 2)
        return err_set(err, ERR_PERMANENT, 0, "a date is too far away for its column");
    return postgres_put_number(to, v - EPOCH_DAYS, 4, err);
}

bool postgres_put(struct buf *to, Oid type, const struct cell *c, struct err *err)
{
    if (c->type != postgres_natural(type, true))
        return err_set(err, ERR_PERMANENT, 0, "a value is of another type than its column");
    switch (type) {
    case TYPE_BOOL:
        return postgres_put_number(to, c->i != 0, 1, err);
    case TYPE_INT2:
        return postgres_put_number(to, c->i, 2, err);
    case TYPE_INT4:
        return postgres_put_number(to, c->i, 4, err);
    case TYPE_INT8:
    case TYPE_TIME:
        return postgres_put_number(to, c->i, 8, err);
    case TYPE_FLOAT4:
        return postgres_put_float(to, c->f, sizeof(float), err);
    case TYPE_FLOAT8:
        return postgres_put_float(to, c->f, sizeof(double), err);
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMPTZ:
        return postgres_put_time(to, c->i, err);
    case TYPE_DATE:
        return postgres_put_date(to, c->i, err);
    case TYPE_NUMERIC:
        return postgres_numeric_put(to, c->s, err);
    case TYPE_JSONB: {
        const char version = JSONB_VERSION;

        return buf_append(to, str_mem(&version, 1), err) && buf_append(to, c->s, err);
    }
    default:
        return buf_append(to, c->s, err);
    }
}
