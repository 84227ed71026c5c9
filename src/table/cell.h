/* cell.h - one value of a row, as all databases have it: the types that travel, are compared and
 * kept.
 *
 * A database has types of its own; a cell has one of these few, each with one form per value, so
 * that two values are equal exactly if their forms are:
 *
 *     INT      64 bits, signed
 *     DEC      a decimal number as text: `-` if below zero, no leading zeros, no zeros at the end
 * of the fraction, no exponent, "0" for zero; also "NaN", "Infinity", "-Infinity" FLOAT    IEEE
 * double; -0 is 0, and there is one NaN TEXT     UTF-8 without NUL BYTES BOOL     i is 0 or 1
 *     INSTANT  a point in time: microseconds since 1970-01-01 UTC
 *     LOCAL    date and time of a calendar without a zone: microseconds, as if it were UTC
 *     DATE     days since 1970-01-01
 *     TIME     microseconds since midnight
 *     UUID     16 bytes
 *     JSON     text in the canonical form of RFC 8785, but with numbers as DEC, which loses nothing
 *
 * INSTANT, LOCAL and DATE have CELL_FOREVER and CELL_NEVER for `infinity` and `-infinity`.
 *
 * Ownership: a cell lends its bytes from whoever made it.
 * Threads: any; nothing here has a state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum cell_type {
    CELL_NULL,
    CELL_INT,
    CELL_DEC,
    CELL_FLOAT,
    CELL_TEXT,
    CELL_BYTES,
    CELL_BOOL,
    CELL_INSTANT,
    CELL_LOCAL,
    CELL_DATE,
    CELL_TIME,
    CELL_UUID,
    CELL_JSON,
    CELL_TYPES
};

enum { CELL_TIME_DIGITS = 6 /* of a second: INSTANT, LOCAL and TIME are in microseconds */ };
#define CELL_FOREVER INT64_MAX
#define CELL_NEVER   INT64_MIN

struct cell {
    enum cell_type type;
    union {
        int64_t i;    /* INT BOOL INSTANT LOCAL DATE TIME */
        double f;     /* FLOAT */
        struct str s; /* DEC TEXT BYTES UUID JSON */
    };
};

/* Their names in configurations and messages: "null", "int", "dec", ... */
extern const char *const cell_types[CELL_TYPES];
/* CELL_TYPES: there is no such type. */
enum cell_type cell_type_named(struct str name);

/* The value in another type, if nothing of it is lost by that; what is made is in the arena.  NULL
 * stays NULL, and a value of that type already is brought into its one form (a DEC of "1.50").
 *
 *     INT <-> DEC, FLOAT, BOOL (0 and 1), TEXT      DEC <-> FLOAT, TEXT       FLOAT <-> TEXT
 *     TEXT <-> INSTANT LOCAL DATE TIME UUID JSON BOOL, as ISO 8601 and so on; BYTES (UTF-8)
 *     INSTANT <-> LOCAL, taken as UTC               LOCAL <-> DATE at midnight
 *     UUID <-> BYTES of 16                          INT <-> INSTANT, LOCAL: microseconds
 *
 * ERR_PERMANENT: this value has no such form ("text `abc` is no int"); the text shows at most a few
 * characters of it. */
bool cell_cast(const struct cell *from, enum cell_type to, struct arena *a, struct cell *ret,
               struct err *err);

/* True if every value of the one type has a form in the other. */
bool cell_cast_is_safe(enum cell_type from, enum cell_type to);

/* Rounds a time to so many digits of its fraction of a second, 0 to 6, half up; of a DEC or FLOAT
 * to so many digits behind the point, half away from zero.  Other types stay. */
bool cell_round(const struct cell *from, int digits, struct arena *a, struct cell *ret,
                struct err *err);

bool cell_same(const struct cell *a, const struct cell *b);

/* For people: "12.5", "2026-11-19T07:00:00Z", "NULL", "x'00ff'", at most `most` bytes. */
struct str cell_text(const struct cell *c, size_t most, struct arena *a);
