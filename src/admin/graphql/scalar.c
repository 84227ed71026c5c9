/* scalar.c - the built-in scalars: how each reads a literal and writes an answer (type.h). */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "admin/graphql/type.h"
#include "base/clock.h"
#include "base/json.h"

/* "... expected, not VALUE", with quotes around a text. */
static bool graphql_scalar_wrong(const char *want, const struct graphql_literal *v, struct err *err)
{
    const char *quote = v->kind == GRAPHQL_LITERAL_STRING ? "\"" : "";
    struct str text = v->text;

    if (v->kind == GRAPHQL_LITERAL_LIST || v->kind == GRAPHQL_LITERAL_OBJECT)
        text = v->kind == GRAPHQL_LITERAL_LIST ? STR("a list") : STR("an object");
    if (text.len > 40)
        text.len = 40;
    return err_set(err, ERR_PERMANENT, 0, "%s expected, not %s%.*s%s", want, quote, STR_ARG(text),
                   quote);
}

static bool mismatch(const char *want, struct err *err)
{
    return err_set(err, ERR_PERMANENT, 0, "the server answered with what is no %s", want);
}

static void write_int(struct buf *out, int64_t v)
{
    buf_printf(out, "%lld", (long long)v);
}

static bool read_long(const struct graphql_literal *v, struct graphql_value *ret, struct err *err)
{
    int64_t n;

    if (v->kind != GRAPHQL_LITERAL_INT || !str_to_i64(v->text, &n))
        return graphql_scalar_wrong("a 64-bit integer", v, err);
    *ret = (struct graphql_value){ .kind = GRAPHQL_INT, .number = n };
    return true;
}

static bool write_long(const struct graphql_answer *a, struct buf *out, struct err *err)
{
    if (a->kind != GRAPHQL_ANSWER_INT)
        return mismatch("Long", err);
    write_int(out, a->number);
    return true;
}

static bool graphql_scalar_read_int(const struct graphql_literal *v, struct graphql_value *ret,
                                    struct err *err)
{
    struct graphql_value got;

    if (!read_long(v, &got, err) || got.number < INT32_MIN || got.number > INT32_MAX)
        return graphql_scalar_wrong("a 32-bit integer", v, err);
    *ret = got;
    return true;
}

static bool write_int32(const struct graphql_answer *a, struct buf *out, struct err *err)
{
    if (a->kind != GRAPHQL_ANSWER_INT || a->number < INT32_MIN || a->number > INT32_MAX)
        return mismatch("Int", err);
    write_int(out, a->number);
    return true;
}

static bool read_float(const struct graphql_literal *v, struct graphql_value *ret, struct err *err)
{
    char text[GRAPHQL_NUMBER_MAX + 1];

    if ((v->kind != GRAPHQL_LITERAL_FLOAT && v->kind != GRAPHQL_LITERAL_INT) ||
        v->text.len >= sizeof text)
        return graphql_scalar_wrong("a number", v, err);
    memcpy(text, v->text.ptr, v->text.len);
    text[v->text.len] = '\0';
    double d = strtod(text, NULL);

    if (!isfinite(d))
        return graphql_scalar_wrong("a number", v, err);
    *ret = (struct graphql_value){ .kind = GRAPHQL_FLOAT, .real = d };
    return true;
}

static bool write_float(const struct graphql_answer *a, struct buf *out, struct err *err)
{
    if (a->kind == GRAPHQL_ANSWER_INT)
        write_int(out, a->number);
    else if (a->kind == GRAPHQL_ANSWER_FLOAT && isfinite(a->real))
        buf_printf(out, "%.17g", a->real);
    else
        return mismatch("Float", err);
    return true;
}

static bool read_bool(const struct graphql_literal *v, struct graphql_value *ret, struct err *err)
{
    if (v->kind != GRAPHQL_LITERAL_BOOL)
        return graphql_scalar_wrong("true or false", v, err);
    *ret = (struct graphql_value){ .kind = GRAPHQL_BOOL, .truth = str_is(v->text, "true") };
    return true;
}

static bool write_bool(const struct graphql_answer *a, struct buf *out, struct err *err)
{
    if (a->kind != GRAPHQL_ANSWER_BOOL)
        return mismatch("Boolean", err);
    buf_puts(out, a->truth ? "true" : "false");
    return true;
}

/* What is stored is shown in terminals and logs: an escape sequence in it is an attack on whoever
 * reads it.  Texts may have lines. */
static bool has_no_control(struct str text, struct err *err)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
            return err_set(err, ERR_PERMANENT, 0,
                           "a text without control characters expected; there is U+%04X at byte "
                           "%zu",
                           c, i + 1);
    }
    return true;
}

static bool read_string(const struct graphql_literal *v, struct graphql_value *ret, struct err *err)
{
    if (v->kind != GRAPHQL_LITERAL_STRING)
        return graphql_scalar_wrong("a string", v, err);
    if (!has_no_control(v->text, err))
        return false;
    *ret = (struct graphql_value){ .kind = GRAPHQL_TEXT, .text = v->text };
    return true;
}

static bool graphql_scalar_read_id(const struct graphql_literal *v, struct graphql_value *ret,
                                   struct err *err)
{
    if (v->kind != GRAPHQL_LITERAL_STRING && v->kind != GRAPHQL_LITERAL_INT)
        return graphql_scalar_wrong("an ID", v, err);
    if (!has_no_control(v->text, err))
        return false;
    *ret = (struct graphql_value){ .kind = GRAPHQL_TEXT, .text = v->text };
    return true;
}

static bool write_id(const struct graphql_answer *a, struct buf *out, struct err *err)
{
    if (a->kind != GRAPHQL_ANSWER_INT)
        return mismatch("ID", err);
    buf_putc(out, '"');
    write_int(out, a->number);
    buf_putc(out, '"');
    return true;
}

/* Reads `n` digits of s at *at; false when there are fewer. */
static bool digits(struct str s, size_t *at, size_t n, int *ret)
{
    uint64_t v;

    if (*at + n > s.len || !str_to_u64(str_mem(s.ptr + *at, n), &v))
        return false;
    *at += n;
    *ret = (int)v;
    return true;
}

static bool one_of(struct str s, size_t *at, const char *chars, char *ret)
{
    if (*at >= s.len || s.ptr[*at] == '\0' || strchr(chars, s.ptr[*at]) == NULL)
        return false;
    *ret = s.ptr[(*at)++];
    return true;
}

static bool read_day(struct str s, size_t *at, struct tm *tm)
{
    char c;

    return digits(s, at, 4, &tm->tm_year) && one_of(s, at, "-", &c) &&
           digits(s, at, 2, &tm->tm_mon) && one_of(s, at, "-", &c) &&
           digits(s, at, 2, &tm->tm_mday) && one_of(s, at, "Tt ", &c);
}

static bool read_clock(struct str s, size_t *at, struct tm *tm)
{
    char c;

    return digits(s, at, 2, &tm->tm_hour) && one_of(s, at, ":", &c) &&
           digits(s, at, 2, &tm->tm_min) && one_of(s, at, ":", &c) &&
           digits(s, at, 2, &tm->tm_sec) && tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60;
}

/* Reads ".123456", at most six digits; no fraction is 0. */
static bool read_fraction(struct str s, size_t *at, int *ret_us)
{
    int us = 0, scale = 100000;
    char c;

    *ret_us = 0;
    if (!one_of(s, at, ".", &c))
        return true;
    size_t from = *at;

    for (; *at < s.len && s.ptr[*at] >= '0' && s.ptr[*at] <= '9'; (*at)++, scale /= 10)
        us += (s.ptr[*at] - '0') * scale;
    *ret_us = us;
    return *at > from && *at - from <= 6;
}

static bool read_zone(struct str s, size_t *at, int *ret_minutes)
{
    int h = 0, m = 0;
    char sign, c;

    if (!one_of(s, at, "Zz+-", &sign))
        return false;
    if ((sign == '+' || sign == '-') && (!digits(s, at, 2, &h) || !one_of(s, at, ":", &c) ||
                                         !digits(s, at, 2, &m) || h > 23 || m > 59))
        return false;
    *ret_minutes = sign == '-' ? -(h * 60 + m) : h * 60 + m;
    return true;
}

static bool read_time(const struct graphql_literal *v, struct graphql_value *ret, struct err *err)
{
    struct tm tm = { 0 }, back;
    size_t at = 0;
    int us, zone;

    if (v->kind != GRAPHQL_LITERAL_STRING || !read_day(v->text, &at, &tm) ||
        !read_clock(v->text, &at, &tm) || !read_fraction(v->text, &at, &us) ||
        !read_zone(v->text, &at, &zone) || at != v->text.len)
        return graphql_scalar_wrong("a time like \"2026-11-15T02:52:10Z\"", v, err);
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    back = tm;
    time_t t = timegm(&back); /* normalises: a date that does not exist becomes another one */

    if (back.tm_mon != tm.tm_mon || back.tm_mday != tm.tm_mday)
        return graphql_scalar_wrong("a day of the calendar", v, err);
    *ret = (struct graphql_value){ .kind = GRAPHQL_INT,
                                   .number = ((int64_t)t - (int64_t)zone * 60) * CLOCK_S + us };
    return true;
}

static bool write_time(const struct graphql_answer *a, struct buf *out, struct err *err)
{
    char text[CLOCK_TEXT];

    if (a->kind != GRAPHQL_ANSWER_INT)
        return mismatch("Time", err);
    buf_printf(out, "\"%s\"", clock_utc_text(a->number, text));
    return true;
}

const struct graphql_scalar *graphql_scalar_find(struct str name)
{
    static const struct graphql_scalar scalars[] = {
        { .name = "Int", .read = graphql_scalar_read_int, .write = write_int32 },
        { .name = "Float", .read = read_float, .write = write_float },
        { .name = "String", .read = read_string, .texts = true },
        { .name = "Boolean", .read = read_bool, .write = write_bool },
        { .name = "ID", .read = graphql_scalar_read_id, .write = write_id, .texts = true },
        { .name = "Long", .read = read_long, .write = write_long },
        { .name = "Time", .read = read_time, .write = write_time, .texts = true },
    };

    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
        if (str_is(name, scalars[i].name))
            return &scalars[i];
    return NULL;
}
