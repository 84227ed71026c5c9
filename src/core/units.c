#include "core/units.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/clock.h"
#include "core/civil.h"

static bool units_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Cuts off the leading digits; false if there are none or the number overflows. */
static bool leading_number(struct str text, uint64_t *ret, struct str *ret_rest, struct err *err)
{
    size_t n = 0;

    while (n < text.len && units_is_digit(text.ptr[n]))
        n++;
    if (n == 0)
        return err_set(err, ERR_CONFIG, 0, "a whole number is expected first");
    if (!str_to_u64(str_mem(text.ptr, n), ret))
        return err_set(err, ERR_CONFIG, 0, "the number is too large");
    *ret_rest = str_from(text, n);
    return true;
}

struct unit {
    const char *name;
    uint64_t factor;
};

static bool scale(uint64_t number, struct str name, const struct unit *units, uint64_t *ret,
                  struct err *err)
{
    for (const struct unit *u = units; u->name != NULL; u++) {
        if (!str_is(name, u->name))
            continue;
        if (__builtin_mul_overflow(number, u->factor, ret) || *ret > INT64_MAX)
            return err_set(err, ERR_CONFIG, 0, "the number is too large");
        return true;
    }
    if (name.len == 0)
        return err_set(err, ERR_CONFIG, 0, "the unit is missing");
    if (name.ptr[0] == '.' || name.ptr[0] == ',')
        return err_set(err, ERR_CONFIG, 0, "fractions are not used; take a smaller unit");
    return err_set(err, ERR_CONFIG, 0, "the unit is not known");
}

bool units_duration(struct str text, int64_t *ret_us, struct err *err)
{
    static const struct unit units[] = {
        { "ms", CLOCK_MS },          { "s", CLOCK_S },
        { "m", 60ull * CLOCK_S },    { "h", 3600ull * CLOCK_S },
        { "d", 86400ull * CLOCK_S }, { 0 },
    };
    uint64_t number, us;
    struct str rest;

    if (!leading_number(text, &number, &rest, err) || !scale(number, rest, units, &us, err))
        return false;
    *ret_us = (int64_t)us;
    return true;
}

bool units_size(struct str text, uint64_t *ret_bytes, struct err *err)
{
    static const struct unit units[] = {
        { "", 1 }, { "KiB", 1ull << 10 }, { "MiB", 1ull << 20 }, { "GiB", 1ull << 30 }, { 0 },
    };
    uint64_t number, bytes;
    struct str rest;

    if (!leading_number(text, &number, &rest, err))
        return false;
    if (rest.len > 1 && rest.ptr[0] == ' ')
        rest = str_from(rest, 1);
    if (!scale(number, rest, units, &bytes, err))
        return false;
    *ret_bytes = bytes;
    return true;
}

bool units_rate(struct str text, struct units_rate *ret, struct err *err)
{
    static const struct unit units[] = {
        { "/s", CLOCK_S }, { "/m", 60ull * CLOCK_S }, { "/h", 3600ull * CLOCK_S }, { 0 }
    };
    uint64_t count, us;
    struct str rest;

    if (!leading_number(text, &count, &rest, err) || !scale(1, rest, units, &us, err))
        return false;
    if (count == 0)
        return err_set(err, ERR_CONFIG, 0, "a rate of 0 would let nothing through");
    if (count > 1000000000)
        return err_set(err, ERR_CONFIG, 0, "the number is too large");
    *ret = (struct units_rate){ count, (int64_t)us };
    return true;
}

uint64_t units_rate_burst(struct units_rate rate)
{
    if (rate.count == 0)
        return 0;
    uint64_t seconds = (uint64_t)rate.per_us / CLOCK_S;
    uint64_t burst = rate.count / seconds;

    return burst > 0 ? burst : 1;
}

bool units_share(struct str text, int64_t *ret, struct err *err)
{
    struct str number, rest = str_cut(text, '%', &number), whole, part;
    uint64_t n, tenth = 0;

    if (text.len == 0 || text.ptr[text.len - 1] != '%' || rest.len > 0)
        return err_set(err, ERR_CONFIG, 0, "a number and `%%` are expected, such as 5%%");
    part = str_cut(number, '.', &whole);
    if (!str_to_u64(whole, &n) ||
        (whole.len < number.len && (part.len != 1 || !str_to_u64(part, &tenth))))
        return err_set(err, ERR_CONFIG, 0,
                       "a number with at most one digit behind the point is expected");
    if (n > 100 || (n == 100 && tenth > 0))
        return err_set(err, ERR_CONFIG, 0, "the most is 100%%");
    *ret = (int64_t)(n * 10 + tenth);
    return true;
}

bool units_time(struct str text, int *ret_minutes, struct err *err)
{
    struct str hour, minute = str_cut(text, ':', &hour);
    uint64_t h, m;

    if (hour.len != 2 || minute.len != 2 || !str_to_u64(hour, &h) || !str_to_u64(minute, &m))
        return err_set(err, ERR_CONFIG, 0, "two digits, a colon and two digits are expected");
    if (m > 59 || h > 24 || (h == 24 && m > 0))
        return err_set(err, ERR_CONFIG, 0, "times go from 00:00 to 24:00");
    *ret_minutes = (int)(h * 60 + m);
    return true;
}

static const char *const weekdays[] = { "mon", "tue", "wed", "thu", "fri", "sat", "sun" };

static int weekday(struct str name)
{
    for (int i = 0; i < 7; i++)
        if (str_is(name, weekdays[i]))
            return i;
    return -1;
}

bool units_days(struct str text, unsigned *ret_days, struct err *err)
{
    unsigned days = 0;

    if (str_is(text, "daily")) {
        *ret_days = 0x7f;
        return true;
    }
    if (text.len > 64)
        return err_set(err, ERR_CONFIG, 0, "the list is too long");
    for (bool more = true; more;) {
        struct str item, from;

        more = str_find(text, ',') >= 0;
        text = str_cut(text, ',', &item);
        struct str to = str_cut(str_trim(item), '-', &from);
        int first = weekday(from);
        int end = str_find(item, '-') < 0 ? first : weekday(to);

        if (first < 0 || end < 0)
            return err_set(err, ERR_CONFIG, 0, "a day is not known");
        for (int day = first;; day = (day + 1) % 7) {
            days |= 1u << day;
            if (day == end)
                break;
        }
    }
    *ret_days = days;
    return true;
}

static bool is_host_name(struct str host)
{
    bool letter = false;

    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];

        if (!is_alpha(c) && !units_is_digit(c) && c != '.' && c != '-' && c != '_')
            return false;
        letter |= is_alpha(c);
        if (c == '.' && (i == 0 || host.ptr[i - 1] == '.'))
            return false;
    }
    return letter && host.ptr[0] != '-';
}

bool units_address(struct str text, struct units_address *ret, struct err *err)
{
    struct units_address address = { 0 };
    bool six = text.len > 0 && text.ptr[0] == '[';
    ptrdiff_t end = six ? str_find(text, ']') : str_find(text, ':');
    struct in6_addr raw;
    uint64_t port;

    if (end < 0 || (six && ((size_t)end + 1 >= text.len || text.ptr[end + 1] != ':')))
        return err_set(err, ERR_CONFIG, 0, "the port is missing");
    struct str host = str_mem(text.ptr + six, (size_t)(end - six));
    struct str digits = str_from(text, (size_t)(end + six + 1));

    if (host.len == 0)
        return err_set(err, ERR_CONFIG, 0, "the host is missing; 0.0.0.0 means every interface");
    if (host.len > UNITS_HOST_MOST)
        return err_set(err, ERR_CONFIG, 0, "the host is too long");
    if (!six && str_find(digits, ':') >= 0)
        return err_set(err, ERR_CONFIG, 0, "an IPv6 address stands in brackets, such as [::1]:80");
    if (digits.len > 5 || !str_to_u64(digits, &port) || port > 65535)
        return err_set(err, ERR_CONFIG, 0, "a port is a number up to 65535");
    memcpy(address.host, host.ptr, host.len);
    if (six ? inet_pton(AF_INET6, address.host, &raw) != 1
            : inet_pton(AF_INET, address.host, &raw) != 1 && !is_host_name(host))
        return err_set(err, ERR_CONFIG, 0, "the host is not a name or an address");
    address.port = (uint16_t)port;
    *ret = address;
    return true;
}

bool units_is_loopback(struct str host)
{
    return str_starts(host, STR("127.")) || str_is(host, "::1") ||
           str_eq_nocase(host, STR("localhost"));
}

bool units_name(struct str text, struct err *err)
{
    size_t dots = 0;

    if (text.len == 0)
        return err_set(err, ERR_CONFIG, 0, "the name is empty");
    if (text.len > UNITS_NAME_MOST)
        return err_set(err, ERR_CONFIG, 0, "the name is longer than 64 characters");
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (!is_alpha(c) && !units_is_digit(c) && c != '.' && c != '_' && c != '-')
            return err_set(err, ERR_CONFIG, 0, "the name has a character that names cannot have");
        dots += c == '.';
    }
    if (dots == text.len)
        return err_set(err, ERR_CONFIG, 0, "the name has only dots");
    return true;
}

bool units_zone(struct str text, struct err *err)
{
    char last = '/';

    if (text.len == 0 || text.len > 64 || !is_alpha(text.ptr[0]))
        return err_set(err, ERR_CONFIG, 0, "this is not the name of a time zone");
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (!is_alpha(c) && !units_is_digit(c) && c != '_' && c != '+' && c != '-' && c != '/')
            return err_set(err, ERR_CONFIG, 0, "this is not the name of a time zone");
        if (c == '/' && last == '/')
            return err_set(err, ERR_CONFIG, 0, "this is not the name of a time zone");
        last = c;
    }
    if (last == '/')
        return err_set(err, ERR_CONFIG, 0, "this is not the name of a time zone");
    return true;
}

/* Two digits from 01 to `most`. */
static bool two_digits(struct str text, int most, int *ret)
{
    uint64_t number;

    if (text.len != 2 || !str_to_u64(text, &number) || number == 0 || number > (uint64_t)most)
        return false;
    *ret = (int)number;
    return true;
}

bool units_date(struct str text, struct units_date *ret, struct err *err)
{
    struct units_date date = { 0 };
    struct str month = text, day;
    uint64_t year = 0;

    if (text.len == 10) {
        struct str head;

        month = str_cut(text, '-', &head);
        if (head.len != 4 || !str_to_u64(head, &year) || year == 0)
            return err_set(err, ERR_CONFIG, 0, "the year is not valid");
    }
    day = str_cut(month, '-', &month);
    if (!two_digits(month, 12, &date.month))
        return err_set(err, ERR_CONFIG, 0, "the month is not valid");
    date.year = (int)year;
    if (!two_digits(day, civil_month_days(year > 0 ? date.year : 2000, date.month), &date.day))
        return err_set(err, ERR_CONFIG, 0, "the month has no such day");
    *ret = date;
    return true;
}

/* HH:MM or HH:MM:SS, as seconds after midnight. */
static bool units_clock(struct str text, int64_t *ret_s, struct err *err)
{
    bool has_seconds = text.len == 8 && text.ptr[5] == ':';
    struct str seconds = has_seconds ? str_from(text, 6) : STR("00");
    uint64_t s;
    int minutes;

    if (!units_time(has_seconds ? str_mem(text.ptr, 5) : text, &minutes, err))
        return false;
    if (seconds.len != 2 || !str_to_u64(seconds, &s) || s > 59 || minutes == 1440)
        return err_set(err, ERR_CONFIG, 0, "times of a day go from 00:00 to 23:59:59");
    *ret_s = minutes * INT64_C(60) + (int64_t)s;
    return true;
}

/* Z, +01:00 or -05:30, in seconds. */
static bool units_offset(struct str text, int64_t *ret_s, struct err *err)
{
    int minutes;

    *ret_s = 0;
    if (str_is(text, "Z"))
        return true;
    if ((text.ptr[0] != '+' && text.ptr[0] != '-') ||
        !units_time(str_from(text, 1), &minutes, err) || minutes == 1440)
        return err_set(err, ERR_CONFIG, 0, "an offset is written as Z or +01:00");
    *ret_s = (text.ptr[0] == '-' ? -1 : 1) * minutes * INT64_C(60);
    return true;
}

bool units_instant(struct str text, struct units_instant *ret, struct err *err)
{
    struct str clock = str_from(text, 11);
    struct units_instant at = { 0 };
    struct units_date date;
    int64_t seconds;
    size_t n = 0;

    if (text.len < 16 || (text.ptr[10] != 'T' && text.ptr[10] != ' '))
        return err_set(err, ERR_CONFIG, 0, "a date, `T` and a time are expected");
    if (!units_date(str_mem(text.ptr, 10), &date, err))
        return false;
    while (n < clock.len && (units_is_digit(clock.ptr[n]) || clock.ptr[n] == ':'))
        n++;
    if (!units_clock(str_mem(clock.ptr, n), &seconds, err))
        return false;
    at.has_offset = n < clock.len;
    if (at.has_offset && !units_offset(str_from(clock, n), &at.offset_s, err))
        return false;
    at.local_s = civil_day(date.year, date.month, date.day) * CIVIL_DAY_S + seconds;
    *ret = at;
    return true;
}

/* The error lists the allowed schemes; it does not quote the URL, which may hold a password. */
static bool wrong_scheme(const char *const *schemes, struct err *err)
{
    char list[120];
    size_t n = 0;

    list[0] = '\0';
    for (size_t i = 0; schemes[i] != NULL && n < sizeof list; i++) {
        int k = snprintf(list + n, sizeof list - n, "%s%s://", i > 0 ? " or " : "", schemes[i]);

        n += k > 0 ? (size_t)k : 0;
    }
    return err_set(err, ERR_CONFIG, 0, "it starts with %s here", list);
}

bool units_url(struct str text, const char *const *schemes, struct err *err)
{
    size_t n = 0;
    bool known = schemes == NULL;

    while (n < text.len && (is_alpha(text.ptr[n]) || units_is_digit(text.ptr[n]) ||
                            text.ptr[n] == '+' || text.ptr[n] == '-'))
        n++;
    for (size_t i = 0; !known && schemes[i] != NULL; i++)
        known = str_is(str_mem(text.ptr, n), schemes[i]);
    if (!known)
        return wrong_scheme(schemes, err);
    if (n == 0 || !str_starts(str_from(text, n), STR("://")))
        return err_set(err, ERR_CONFIG, 0, "`://` is missing after the scheme");
    struct str rest = str_from(text, n + 3);

    if (rest.len == 0 || rest.ptr[0] == '/')
        return err_set(err, ERR_CONFIG, 0, "the host is missing");
    for (size_t i = 0; i < rest.len; i++)
        if ((unsigned char)rest.ptr[i] <= ' ')
            return err_set(err, ERR_CONFIG, 0, "blanks are written %%20");
    return true;
}
