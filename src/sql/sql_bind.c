#include "sql/sql_bind.h"

#include <stdio.h>

/* 2026-03-29T02:30:00.123456; the fraction and what stands between date and time may differ. */
static bool parse_timestamp(struct str s, SQL_TIMESTAMP_STRUCT *ret)
{
    int year, month, day, hour = 0, minute = 0, second = 0, at = 0;
    char text[BIND_SMALL];
    unsigned fraction = 0;

    if (s.len >= sizeof text)
        return false;
    memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    if (sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute,
               &second, &at) != 6)
        return false;
    struct str rest = str_from(str_of(text), (size_t)at);

    if (rest.len > 0 && rest.ptr[0] == '.') {
        unsigned scale = 100000000;

        for (size_t i = 1; i < rest.len; i++, scale /= 10) {
            if (rest.ptr[i] < '0' || rest.ptr[i] > '9')
                return false;
            fraction += (unsigned)(rest.ptr[i] - '0') * scale;
        }
    } else if (rest.len > 0) {
        return false;
    }
    *ret = (SQL_TIMESTAMP_STRUCT){ .year = (SQLSMALLINT)year,
                                   .month = (SQLUSMALLINT)month,
                                   .day = (SQLUSMALLINT)day,
                                   .hour = (SQLUSMALLINT)hour,
                                   .minute = (SQLUSMALLINT)minute,
                                   .second = (SQLUSMALLINT)second,
                                   .fraction = fraction };
    return true;
}

static bool is_binary(SQLSMALLINT type)
{
    return type == SQL_BINARY || type == SQL_VARBINARY || type == SQL_LONGVARBINARY;
}

struct binding {
    SQLSMALLINT c_type, sql_type;
    SQLULEN size;
    SQLSMALLINT digits;
    const void *at;
};

/* Numbers of more digits than an int64 has are sent as texts of decimals. */
static struct binding bind_decimal(const struct datum *d)
{
    const char *point = memchr(d->bytes.ptr, '.', d->bytes.len);
    size_t scale = point != NULL ? (size_t)(d->bytes.ptr + d->bytes.len - point - 1) : 0;

    return (struct binding){ SQL_C_CHAR, SQL_DECIMAL, d->bytes.len, (SQLSMALLINT)scale,
                             d->bytes.ptr };
}

static struct binding bind_bytes(const struct datum *d, SQLSMALLINT described)
{
    bool text = described != 0
                    ? !is_binary(described)
                    : str_is_utf8(d->bytes) && memchr(d->bytes.ptr, '\0', d->bytes.len) == NULL;

    if (text)
        return (struct binding){ SQL_C_CHAR, SQL_LONGVARCHAR, d->bytes.len, 0, d->bytes.ptr };
    return (struct binding){ SQL_C_BINARY, SQL_LONGVARBINARY, d->bytes.len, 0, d->bytes.ptr };
}

/* As SQLite's own functions write it, with all digits. */
static struct binding bind_plain_time(const struct datum *d, struct bound *b)
{
    memcpy(b->room.text, d->bytes.ptr, d->bytes.len);
    char *between = memchr(b->room.text, 'T', d->bytes.len);

    if (between != NULL)
        *between = ' ';
    return (struct binding){ SQL_C_CHAR, SQL_VARCHAR, d->bytes.len, 0, b->room.text };
}

static struct binding bind_kind(const struct odbc *o, const struct datum *d, SQLSMALLINT described,
                                struct bound *b)
{
    int64_t integer;

    switch (d->kind) {
    case DATUM_BYTES:
        return bind_bytes(d, described);
    case DATUM_INTEGER:
        if (!str_to_i64(d->bytes, &integer))
            return bind_decimal(d);
        b->room.integer = integer;
        b->length = 0;
        return (struct binding){ SQL_C_SBIGINT, SQL_BIGINT, 20, 0, &b->room.integer };
    case DATUM_DECIMAL:
        return bind_decimal(d);
    case DATUM_TIMESTAMP:
        if (parse_timestamp(d->bytes,
                            &b->room.timestamp)) { /* so it has less than BIND_SMALL bytes */
            if (o->plain_times)
                return bind_plain_time(d, b);
            b->length = sizeof b->room.timestamp;
            return (struct binding){ SQL_C_TYPE_TIMESTAMP, SQL_TYPE_TIMESTAMP, 26, 6,
                                     &b->room.timestamp };
        }
        break;
    case DATUM_BOOL:
        if (described != 0)
            break;
        b->room.integer = str_is(d->bytes, "true"); /* most databases have numbers for it */
        b->length = 0;
        return (struct binding){ SQL_C_SBIGINT, SQL_BIGINT, 20, 0, &b->room.integer };
    case DATUM_DATE:
    case DATUM_TIME:
    case DATUM_NULL:
    case DATUM_TEXT:
    case DATUM_FLOAT:
    case DATUM_FAILED:
        break;
    }
    return (struct binding){ SQL_C_CHAR, d->bytes.len > 4000 ? SQL_LONGVARCHAR : SQL_VARCHAR,
                             d->bytes.len, 0, d->bytes.ptr };
}

bool bind_value(struct odbc *o, SQLUSMALLINT n, const struct datum *d, SQLSMALLINT described,
                struct bound *b, struct sql_failure *f)
{
    static const char none[1];

    b->length = (SQLLEN)d->bytes.len;
    struct binding as = bind_kind(o, d, described, b);
    union {
        const void *from;
        void *to;
    } at = { .from = as.at != NULL ? as.at : none }; /* ODBC has no const */

    if (d->kind == DATUM_NULL)
        b->length = SQL_NULL_DATA;
    if (SQL_SUCCEEDED(o->call.SQLBindParameter(
            o->stmt, n, SQL_PARAM_INPUT, as.c_type, described != 0 ? described : as.sql_type,
            as.size > 0 ? as.size : 1, as.digits, at.to, (SQLLEN)d->bytes.len, &b->length)))
        return true;
    return odbc_say(o, SQL_HANDLE_STMT, o->stmt, false, f);
}
