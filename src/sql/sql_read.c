/* sql_read.c - the values of a row, as texts that lose nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sql/sql_odbc.h"

enum { PIECE = 64 << 10, TIME_MOST = 48 };

static void fail_value(struct datum *ret, struct buf *room, const char *why)
{
    buf_clear(room);
    buf_puts(room, why);
    *ret = (struct datum){ DATUM_FAILED, buf_view(room) };
}

static void fail_said(struct odbc *o, struct datum *ret, struct buf *room)
{
    struct sql_failure f = { 0 };

    (void)odbc_say(o, SQL_HANDLE_STMT, o->stmt, false, &f);
    fail_value(ret, room, f.text);
}

/* A value of any length, piece by piece. */
static void get_pieces(struct odbc *o, SQLUSMALLINT n, SQLSMALLINT c_type, size_t most,
                       struct buf *room, struct datum *ret)
{
    size_t end = c_type == SQL_C_CHAR ? 1 : 0; /* each piece of text is terminated */
    struct err err = { 0 };
    SQLRETURN got;

    do {
        SQLLEN length = 0;

        if (room->len > most || !buf_reserve(room, PIECE, &err)) {
            fail_value(ret, room, "the value is too large");
            return;
        }
        got = o->call.SQLGetData(o->stmt, n, c_type, room->ptr + room->len, PIECE, &length);
        if (got == SQL_NO_DATA)
            break;
        if (!SQL_SUCCEEDED(got)) {
            fail_said(o, ret, room);
            return;
        }
        if (length == SQL_NULL_DATA) {
            *ret = (struct datum){ .kind = DATUM_NULL };
            return;
        }
        size_t here =
            length == SQL_NO_TOTAL || length > (SQLLEN)(PIECE - end) ? PIECE - end : (size_t)length;
        buf_added(room, here);
    } while (got == SQL_SUCCESS_WITH_INFO);
    if (room->len > most)
        fail_value(ret, room, "the value is too large");
    else
        *ret = (struct datum){ ret->kind, buf_view(room) };
}

/* The shortest text that is read as the same number. */
static void put_float(struct buf *room, double v, bool single)
{
    char text[40];

    for (int digits = single ? 6 : 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        if (single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
            break;
    }
    buf_puts(room, text);
}

static void get_float(struct odbc *o, SQLUSMALLINT n, bool single, struct buf *room,
                      struct datum *ret)
{
    SQLLEN length = 0;
    float narrow = 0;
    double wide = 0;
    SQLRETURN got =
        o->call.SQLGetData(o->stmt, n, single ? SQL_C_FLOAT : SQL_C_DOUBLE,
                           single ? (SQLPOINTER)&narrow : (SQLPOINTER)&wide, 0, &length);

    if (!SQL_SUCCEEDED(got)) {
        fail_said(o, ret, room);
    } else if (length == SQL_NULL_DATA) {
        *ret = (struct datum){ .kind = DATUM_NULL };
    } else {
        wide = single ? (double)narrow : wide;
        if (isfinite(wide))
            put_float(room, wide, single);
        else
            buf_puts(room, isnan(wide) ? "NaN" : wide < 0 ? "-Infinity" : "Infinity");
        *ret = (struct datum){ isfinite(wide) ? DATUM_FLOAT : DATUM_TEXT, buf_view(room) };
    }
}

static void get_timestamp(struct odbc *o, SQLUSMALLINT n, struct buf *room, struct datum *ret)
{
    SQL_TIMESTAMP_STRUCT t = { 0 };
    char text[TIME_MOST];
    SQLLEN length = 0;
    SQLRETURN got =
        o->call.SQLGetData(o->stmt, n, SQL_C_TYPE_TIMESTAMP, &t, (SQLLEN)sizeof t, &length);

    if (!SQL_SUCCEEDED(got)) {
        fail_said(o, ret, room);
    } else if (length == SQL_NULL_DATA) {
        *ret = (struct datum){ .kind = DATUM_NULL };
    } else {
        (void)snprintf(text, sizeof text, "%04d-%02u-%02uT%02u:%02u:%02u.%06u", t.year, t.month,
                       t.day, t.hour, t.minute, t.second, (unsigned)(t.fraction / 1000));
        buf_puts(room, text);
        *ret = (struct datum){ DATUM_TIMESTAMP, buf_view(room) };
    }
}

static void get_bool(struct odbc *o, SQLUSMALLINT n, struct buf *room, struct datum *ret)
{
    unsigned char bit = 0;
    SQLLEN length = 0;
    SQLRETURN got = o->call.SQLGetData(o->stmt, n, SQL_C_BIT, &bit, 1, &length);

    if (!SQL_SUCCEEDED(got))
        fail_said(o, ret, room);
    else if (length == SQL_NULL_DATA)
        *ret = (struct datum){ .kind = DATUM_NULL };
    else
        *ret = (struct datum){ DATUM_BOOL, bit != 0 ? STR("true") : STR("false") };
}

/* What is no number of JSON, such as NaN, is a text. */
static bool is_number(struct str s)
{
    size_t digits = 0;

    for (size_t i = s.len > 0 && s.ptr[0] == '-'; i < s.len; i++) {
        if (s.ptr[i] >= '0' && s.ptr[i] <= '9')
            digits++;
        else if (s.ptr[i] != '.' || digits == 0 || i + 1 == s.len)
            return false;
    }
    return digits > 0;
}

/* Some drivers write .5 and -.5. */
static void complete_number(struct buf *room)
{
    size_t at = room->len > 0 && room->ptr[0] == '-' ? 1 : 0;
    char text[TIME_MOST];

    if (room->len <= at || room->len + 2 > sizeof text || room->ptr[at] != '.')
        return;
    (void)snprintf(text, sizeof text, "%s0%s", at > 0 ? "-" : "", room->ptr + at);
    buf_clear(room);
    buf_puts(room, text);
}

void odbc_value(struct odbc *o, SQLSMALLINT i, size_t most, struct buf *room, struct datum *ret)
{
    const struct odbc_column *c = &o->column[i];
    SQLUSMALLINT n = (SQLUSMALLINT)(i + 1);

    ret->kind = c->kind;
    switch (c->kind) {
    case DATUM_FLOAT:
        get_float(o, n, c->type == SQL_REAL, room, ret);
        return;
    case DATUM_TIMESTAMP:
        get_timestamp(o, n, room, ret);
        return;
    case DATUM_BOOL:
        get_bool(o, n, room, ret);
        return;
    case DATUM_BYTES:
        get_pieces(o, n, SQL_C_BINARY, most, room, ret);
        return;
    default:
        break;
    }
    get_pieces(o, n, SQL_C_CHAR, most, room, ret);
    if (ret->kind == DATUM_INTEGER || ret->kind == DATUM_DECIMAL) {
        complete_number(room);
        *ret = (struct datum){ is_number(buf_view(room)) ? ret->kind : DATUM_TEXT, buf_view(room) };
    }
    if (ret->kind == DATUM_TEXT && !str_is_utf8(ret->bytes))
        ret->kind = DATUM_BYTES;
}
