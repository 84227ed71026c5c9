/* mariadb_value.c - cells as MariaDB's binary protocol has them, and back.
 *
 * What a cell cannot be (a zero date, a time of more than a day) comes as the text of it, which no
 * cast takes: such a row is told, and not made into something else.
 */
#include <math.h>
#include <stdio.h>

#include "core/civil.h"
#include "table/mariadb/mariadb.h"

enum { VALUE_SMALL = sizeof((struct mariadb_slot *)NULL)->text };

#define VALUE_SECOND INT64_C(1000000)
#define VALUE_DAY    (CIVIL_DAY_S * VALUE_SECOND)

enum cell_type mariadb_natural(enum mariadb_kind kind)
{
    switch (kind) {
    case MARIADB_INT:
    case MARIADB_BITS:
        return CELL_INT;
    case MARIADB_UNSIGNED:
    case MARIADB_DEC:
        return CELL_DEC;
    case MARIADB_FLOAT:
    case MARIADB_DOUBLE:
        return CELL_FLOAT;
    case MARIADB_TEXT:
        return CELL_TEXT;
    case MARIADB_BYTES:
        return CELL_BYTES;
    case MARIADB_BIT:
        return CELL_BOOL;
    case MARIADB_TIMESTAMP:
        return CELL_INSTANT;
    case MARIADB_DATETIME:
        return CELL_LOCAL;
    case MARIADB_DATE:
        return CELL_DATE;
    case MARIADB_TIME:
        return CELL_TIME;
    case MARIADB_UUID:
        return CELL_UUID;
    case MARIADB_JSON:
        return CELL_JSON;
    case MARIADB_NONE:
        break;
    }
    return CELL_NULL;
}

/* ---- to the server ---- */

static bool value_put_day(int64_t day, MYSQL_TIME *to, struct err *err)
{
    if (day < civil_day(1, 1, 1) || day > civil_day(9999, 12, 31))
        return err_set(err, ERR_PERMANENT, 0, "a date that MariaDB does not have");
    struct civil_date date = civil_date(day);

    to->year = (unsigned)date.year;
    to->month = (unsigned)date.month;
    to->day = (unsigned)date.day;
    return true;
}

static void value_put_clock(int64_t us, MYSQL_TIME *to)
{
    int64_t s = us / VALUE_SECOND;

    to->second_part = (unsigned long)(us % VALUE_SECOND);
    to->hour = (unsigned)(s / 3600);
    to->minute = (unsigned)(s / 60 % 60);
    to->second = (unsigned)(s % 60);
}

static bool value_put_time(const struct cell *c, MYSQL_TIME *to, struct err *err)
{
    *to = (MYSQL_TIME){ .time_type = MYSQL_TIMESTAMP_DATETIME };
    if (c->type == CELL_DATE) {
        to->time_type = MYSQL_TIMESTAMP_DATE;
        return value_put_day(c->i, to, err);
    }
    if (c->type == CELL_TIME) {
        to->time_type = MYSQL_TIMESTAMP_TIME;
        if (c->i < 0 || c->i > VALUE_DAY)
            return err_set(err, ERR_PERMANENT, 0, "a time that is none of a day");
        value_put_clock(c->i, to);
        return true;
    }
    int64_t day = civil_floor(c->i, VALUE_DAY);

    if (c->i == CELL_FOREVER || c->i == CELL_NEVER)
        return err_set(err, ERR_PERMANENT, 0, "MariaDB has no time without end");
    value_put_clock(c->i - day * VALUE_DAY, to);
    return value_put_day(day, to, err);
}

static bool value_put_dec(const struct cell *c, struct err *err)
{
    for (size_t i = 0; i < c->s.len; i++)
        if (c->s.ptr[i] > '9')
            return err_set(err, ERR_PERMANENT, 0, "MariaDB has no NaN and no infinity");
    return true;
}

static void value_bind_bytes(struct str s, enum enum_field_types type, struct mariadb_slot *slot,
                             MYSQL_BIND *bind)
{
    union {
        const char *from;
        void *to;
    } lent = { s.len > 0 ? s.ptr : "" }; /* the library only reads it */

    slot->length = s.len;
    bind->buffer_type = type;
    bind->buffer = lent.to;
    bind->buffer_length = s.len;
    bind->length = &slot->length;
}

static void value_bind_uuid(const struct cell *c, struct mariadb_slot *slot, MYSQL_BIND *bind)
{
    size_t n = 0;

    for (size_t i = 0; i < c->s.len && i < 16; i++)
        n += (size_t)snprintf(slot->text + n, sizeof slot->text - n, "%s%02x",
                              i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                              (unsigned char)c->s.ptr[i]);
    value_bind_bytes(str_mem(slot->text, n), MYSQL_TYPE_STRING, slot, bind);
}

bool mariadb_bind(const struct cell *c, struct mariadb_slot *slot, MYSQL_BIND *bind,
                  struct err *err)
{
    *bind = (MYSQL_BIND){ .buffer = slot->text };
    switch (c->type) {
    case CELL_INT:
    case CELL_BOOL:
        slot->i = c->i;
        bind->buffer_type = MYSQL_TYPE_LONGLONG;
        return true;
    case CELL_DEC:
        value_bind_bytes(c->s, MYSQL_TYPE_NEWDECIMAL, slot, bind);
        return value_put_dec(c, err);
    case CELL_FLOAT:
        slot->d = c->f;
        bind->buffer_type = MYSQL_TYPE_DOUBLE;
        return isfinite(c->f) ||
               err_set(err, ERR_PERMANENT, 0, "MariaDB has no NaN and no infinity");
    case CELL_TEXT:
    case CELL_JSON:
        value_bind_bytes(c->s, MYSQL_TYPE_STRING, slot, bind);
        return true;
    case CELL_BYTES:
        value_bind_bytes(c->s, MYSQL_TYPE_BLOB, slot, bind);
        return true;
    case CELL_UUID:
        value_bind_uuid(c, slot, bind);
        return true;
    case CELL_INSTANT:
    case CELL_LOCAL:
    case CELL_DATE:
    case CELL_TIME:
        bind->buffer_type = c->type == CELL_DATE   ? MYSQL_TYPE_DATE
                            : c->type == CELL_TIME ? MYSQL_TYPE_TIME
                                                   : MYSQL_TYPE_DATETIME;
        return value_put_time(c, &slot->time, err);
    case CELL_NULL:
    case CELL_TYPES:
        break;
    }
    bind->buffer_type = MYSQL_TYPE_NULL;
    return true;
}

/* ---- from the server ---- */

void mariadb_bind_result(enum mariadb_kind kind, struct mariadb_slot *slot, MYSQL_BIND *bind)
{
    *bind = (MYSQL_BIND){ .buffer = slot->text,
                          .buffer_length = VALUE_SMALL,
                          .length = &slot->length,
                          .is_null = &slot->null,
                          .error = &slot->error };
    switch (kind) {
    case MARIADB_INT:
    case MARIADB_BIT:
    case MARIADB_BITS:
        bind->buffer_type = MYSQL_TYPE_LONGLONG;
        break;
    case MARIADB_UNSIGNED:
        bind->buffer_type = MYSQL_TYPE_LONGLONG;
        bind->is_unsigned = true;
        break;
    case MARIADB_FLOAT:
        bind->buffer_type = MYSQL_TYPE_FLOAT;
        break;
    case MARIADB_DOUBLE:
        bind->buffer_type = MYSQL_TYPE_DOUBLE;
        break;
    case MARIADB_TIMESTAMP:
    case MARIADB_DATETIME:
        bind->buffer_type = MYSQL_TYPE_DATETIME;
        break;
    case MARIADB_DATE:
        bind->buffer_type = MYSQL_TYPE_DATE;
        break;
    case MARIADB_TIME:
        bind->buffer_type = MYSQL_TYPE_TIME;
        break;
    case MARIADB_BYTES:
    case MARIADB_UUID:
        bind->buffer_type = MYSQL_TYPE_BLOB;
        break;
    case MARIADB_NONE:
    case MARIADB_DEC:
    case MARIADB_TEXT:
    case MARIADB_JSON:
        bind->buffer_type = MYSQL_TYPE_STRING;
    }
}

static struct cell value_odd(const MYSQL_TIME *t, bool day, bool clock, struct arena *a)
{
    const char *text = arena_printf(a, "%s", t->neg ? "-" : "");

    if (day)
        text = arena_printf(a, "%s%04u-%02u-%02u", text, t->year, t->month, t->day);
    if (clock)
        text = arena_printf(a, "%s%s%02u:%02u:%02u", text, day ? " " : "",
                            t->hour + t->day * 24U * !day, t->minute, t->second);
    return mariadb_text(str_of(text));
}

static int64_t value_clock(const MYSQL_TIME *t)
{
    return ((int64_t)t->hour * 3600 + (int64_t)t->minute * 60 + (int64_t)t->second) * VALUE_SECOND +
           (int64_t)t->second_part;
}

static struct cell value_time(enum mariadb_kind kind, const MYSQL_TIME *t, struct arena *a)
{
    bool day = kind != MARIADB_TIME, clock = kind != MARIADB_DATE;
    struct cell ret = { .type = mariadb_natural(kind) };

    if (day ? t->year == 0 || t->month == 0 || t->day == 0 : t->neg || t->day > 0 || t->hour > 23)
        return value_odd(t, day, clock, a);
    if (day)
        ret.i = civil_day((int64_t)t->year, (int)t->month, (int)t->day);
    if (clock)
        ret.i = ret.i * VALUE_DAY + value_clock(t);
    return ret;
}

/* Bytes of any length; those that did not fit are fetched again. */
static bool value_bytes(MYSQL_STMT *stmt, unsigned at, const struct mariadb_slot *slot,
                        const MYSQL_BIND *bind, struct arena *a, struct str *ret, struct err *err)
{
    if (slot->length <= VALUE_SMALL) {
        *ret = str_mem(slot->text, slot->length);
        return true;
    }
    if (slot->length > SHAPE_ROW_BYTES || a->used + slot->length > SHAPE_ROW_BYTES)
        return err_set(err, ERR_LIMIT, 0, "a row is larger than %d bytes", SHAPE_ROW_BYTES);
    MYSQL_BIND whole = *bind;
    unsigned long length = 0;
    my_bool cut = 0, null = 0;

    whole.buffer = arena_alloc(a, slot->length + 1);
    whole.buffer_length = slot->length;
    whole.length = &length;
    whole.error = &cut;
    whole.is_null = &null;
    if (mysql_stmt_fetch_column(stmt, &whole, at, 0) != 0 || length != slot->length)
        return err_set(err, ERR_TRANSIENT, 0, "a long value could not be fetched");
    *ret = str_mem(whole.buffer, slot->length);
    return true;
}

bool mariadb_value(MYSQL_STMT *stmt, unsigned at, enum mariadb_kind kind,
                   const struct mariadb_slot *slot, const MYSQL_BIND *bind, struct arena *a,
                   struct cell *ret, struct err *err)
{
    *ret = (struct cell){ .type = slot->null ? CELL_NULL : mariadb_natural(kind) };
    if (slot->null)
        return true;
    switch (kind) {
    case MARIADB_INT:
    case MARIADB_BITS:
    case MARIADB_BIT:
        ret->i = slot->i;
        return true;
    case MARIADB_UNSIGNED:
        ret->s = str_of(arena_printf(a, "%llu", (unsigned long long)slot->i));
        return true;
    case MARIADB_FLOAT:
        ret->f = (double)slot->f;
        return true;
    case MARIADB_DOUBLE:
        ret->f = slot->d;
        return true;
    case MARIADB_TIMESTAMP:
    case MARIADB_DATETIME:
    case MARIADB_DATE:
    case MARIADB_TIME:
        *ret = value_time(kind, &slot->time, a);
        return true;
    case MARIADB_DEC:
    case MARIADB_TEXT:
    case MARIADB_JSON:
    case MARIADB_BYTES:
    case MARIADB_UUID:
        return value_bytes(stmt, at, slot, bind, a, &ret->s, err);
    case MARIADB_NONE:
        break;
    }
    ret->type = CELL_NULL;
    return true;
}
