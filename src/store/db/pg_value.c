#include "store/db/pg_value.h"

#include <endian.h>

#include "base/require.h"

enum { INT8 = 20, TEXT = 25, BYTEA = 17, INT8_ARRAY = 1016, TEXT_ARRAY = 1009, BYTEA_ARRAY = 1001 };
enum { ARRAY_HEAD = 20 };

static Oid pg_value_type_of(char letter)
{
    return letter == 'i' ? INT8 : letter == 't' ? TEXT : BYTEA;
}

static Oid array_of(char letter)
{
    return letter == 'i' ? INT8_ARRAY : letter == 't' ? TEXT_ARRAY : BYTEA_ARRAY;
}

int pg_types(const struct sql_statement *s, Oid types[static PG_PARAMS_MOST])
{
    int n = 0;

    for (const char *t = s->types; *t != '\0'; t++) {
        require(n < PG_PARAMS_MOST);
        types[n++] = s->batch ? array_of(*t) : pg_value_type_of(*t);
    }
    return n;
}

/* A value of another type than the statement declares is a bug of the caller. */
static void check_type(char letter, const struct db_value *v)
{
    require(v->type == DB_NULL || (letter == 'i' && v->type == DB_INT) ||
            (letter == 't' && v->type == DB_TEXT) || (letter == 'b' && v->type == DB_BYTES));
}

void pg_row(const char *types, const struct db_value *values, size_t columns, struct pg_params *ret)
{
    require(columns == strlen(types) && columns <= PG_PARAMS_MOST);
    ret->count = (int)columns;
    for (size_t i = 0; i < columns; i++) {
        const struct db_value *v = &values[i];

        check_type(types[i], v);
        ret->formats[i] = 1;
        if (v->type == DB_NULL) {
            ret->values[i] = NULL;
            ret->lengths[i] = 0;
        } else if (v->type == DB_INT) {
            ret->ints[i] = htobe64((uint64_t)v->i);
            ret->values[i] = (const char *)&ret->ints[i];
            ret->lengths[i] = 8;
        } else {
            require(v->s.len <= INT32_MAX);
            ret->values[i] = v->s.ptr != NULL ? v->s.ptr : "";
            ret->lengths[i] = (int)v->s.len;
        }
    }
}

static size_t element_size(const struct db_value *v)
{
    return 4 + (v->type == DB_NULL ? 0 : v->type == DB_INT ? 8 : v->s.len);
}

size_t pg_rows_within(const struct db_value *values, size_t columns, size_t rows, size_t most)
{
    size_t bytes = 0;

    for (size_t i = 0; i < rows; i++) {
        for (size_t c = 0; c < columns; c++)
            bytes += element_size(&values[i * columns + c]);
        if (bytes > most && i > 0)
            return i;
    }
    return rows;
}

static char *put_u32(char *at, uint32_t v)
{
    v = htobe32(v);
    memcpy(at, &v, sizeof v);
    return at + sizeof v;
}

static char *pg_value_put_element(char *at, const struct db_value *v)
{
    if (v->type == DB_NULL)
        return put_u32(at, UINT32_MAX);
    if (v->type == DB_INT) {
        uint64_t i = htobe64((uint64_t)v->i);

        at = put_u32(at, sizeof i);
        memcpy(at, &i, sizeof i);
        return at + sizeof i;
    }
    at = put_u32(at, (uint32_t)v->s.len);
    if (v->s.len > 0)
        memcpy(at, v->s.ptr, v->s.len);
    return at + v->s.len;
}

/* One column of the rows as an array. */
static char *put_array(char *at, char letter, const struct db_value *column, size_t stride,
                       size_t rows)
{
    char *head = at;
    uint32_t nulls = 0;

    at += ARRAY_HEAD;
    for (size_t i = 0; i < rows; i++) {
        const struct db_value *v = &column[i * stride];

        check_type(letter, v);
        nulls |= v->type == DB_NULL;
        at = pg_value_put_element(at, v);
    }
    head = put_u32(head, 1);
    head = put_u32(head, nulls);
    head = put_u32(head, pg_value_type_of(letter));
    head = put_u32(head, (uint32_t)rows);
    (void)put_u32(head, 1);
    return at;
}

bool pg_arrays(const char *types, const struct db_value *values, size_t columns, size_t rows,
               struct buf *scratch, struct pg_params *ret, struct err *err)
{
    size_t bytes = columns * ARRAY_HEAD;

    require(columns == strlen(types) && columns <= PG_PARAMS_MOST && rows > 0);
    for (size_t i = 0; i < columns * rows; i++)
        bytes += element_size(&values[i]);
    buf_clear(scratch);
    if (!buf_reserve(scratch, bytes, err))
        return false;
    char *at = scratch->ptr;

    ret->count = (int)columns;
    for (size_t c = 0; c < columns; c++) {
        char *end = put_array(at, types[c], values + c, columns, rows);

        ret->values[c] = at;
        ret->lengths[c] = (int)(end - at);
        ret->formats[c] = 1;
        at = end;
    }
    require((size_t)(at - scratch->ptr) == bytes);
    buf_added(scratch, bytes);
    return true;
}

int64_t pg_int(const PGresult *result, int row, int column)
{
    const char *p = PQgetvalue(result, row, column);
    uint64_t v8;
    uint32_t v4;
    uint16_t v2;

    if (PQgetisnull(result, row, column))
        return 0;
    switch (PQgetlength(result, row, column)) {
    case 8:
        memcpy(&v8, p, sizeof v8);
        return (int64_t)be64toh(v8);
    case 4:
        memcpy(&v4, p, sizeof v4);
        return (int32_t)be32toh(v4);
    case 2:
        memcpy(&v2, p, sizeof v2);
        return (int16_t)be16toh(v2);
    default:
        unreachable("a column that is read as a number is one");
    }
}
