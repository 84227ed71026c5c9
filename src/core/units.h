/* units.h - the small notations of a configuration: 30s, 64 MiB, 50/s, mon-fri.
 *
 * Each function reads one notation strictly: the whole text, no sign, no
 * fraction, overflow refused.  On failure err->text is a short reason ("the unit
 * is missing") that never repeats a whole value, so that it may be shown;
 * option_form() in core/option.h describes each notation.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { UNITS_NAME_MOST = 64, UNITS_HOST_MOST = 253 };

/* 250ms 30s 10m 24h 3d */
bool units_duration(struct str text, int64_t *ret_us, struct err *err);

/* 512, 64 KiB, 64 MiB, 1 GiB; a plain number counts bytes. */
bool units_size(struct str text, uint64_t *ret_bytes, struct err *err);

struct units_rate {
    uint64_t count; /* 0: no limit */
    int64_t per_us;
};

/* 50/s 1000/m 5/h */
bool units_rate(struct str text, struct units_rate *ret, struct err *err);

/* The default burst of a rate: one second's worth, at least 1. */
uint64_t units_rate_burst(struct units_rate rate);

/* 5% or 0.5%: *ret is in thousandths of the whole, at most 1000. */
bool units_share(struct str text, int64_t *ret, struct err *err);

/* "22:00" as minutes after midnight; "24:00" is the end of the day. */
bool units_time(struct str text, int *ret_minutes, struct err *err);

/* mon-fri, "sat,sun", fri-mon, daily; bit 0 is Monday. */
bool units_days(struct str text, unsigned *ret_days, struct err *err);

struct units_address {
    char host[UNITS_HOST_MOST + 1]; /* without the brackets of IPv6 */
    uint16_t port;
};

/* 127.0.0.1:8480, [::1]:8480, host.example:2575.  Port 0 is allowed here. */
bool units_address(struct str text, struct units_address *ret, struct err *err);

/* Only this machine can reach it: 127.0.0.0/8, ::1, localhost. */
bool units_is_loopback(struct str host);

/* [A-Za-z0-9._-]{1,64}, and not only dots. */
bool units_name(struct str text, struct err *err);

/* The name of a time zone is well-formed: UTC, Europe/Berlin.  Whether this machine
 * knows the zone is not checked (zone_load()). */
bool units_zone(struct str text, struct err *err);

struct units_date {
    int year; /* 0: every year */
    int month, day;
};

/* 2026-12-24, or 12-25 for every year. */
bool units_date(struct str text, struct units_date *ret, struct err *err);

/* A point in time: local_s counts seconds since 1970 on the clock of a zone that the text does not
 * name, unless it has an offset: then that is the seconds by which its clock is ahead of UTC. */
struct units_instant {
    int64_t local_s;
    bool has_offset;
    int64_t offset_s;
};

/* 2026-12-24T22:00, 2026-12-24 22:00:30, with or without Z or an offset such as +01:00. */
bool units_instant(struct str text, struct units_instant *ret, struct err *err);

/* scheme://rest; `schemes` ends with NULL, and NULL allows any. */
bool units_url(struct str text, const char *const *schemes, struct err *err);
