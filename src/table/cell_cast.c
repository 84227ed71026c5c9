#include "table/cell_cast.h"

#include <math.h>
#include <stdio.h>

#include "table/cell_dec.h"
#include "table/cell_json.h"
#include "table/cell_time.h"

enum { SHOWN_MOST = 24, BIT_OF_INT = 63 };

/* ---- a value in its own type: brought into its one form ---- */

static bool cast_as_is(const struct cell *from, struct arena *a, struct cell *ret,
                       const char **ret_why)
{
    enum cell_type to = ret->type;

    (void)a;
    (void)ret_why;
    *ret = *from;
    ret->type = to;
    return true;
}

static bool cast_dec(const struct cell *from, struct arena *a, struct cell *ret,
                     const char **ret_why)
{
    (void)ret_why;
    return cell_dec_normal(from->s, a, &ret->s);
}

static bool cast_float(const struct cell *from, struct arena *a, struct cell *ret,
                       const char **ret_why)
{
    (void)a;
    (void)ret_why;
    ret->f = cell_dec_one_double(from->f);
    return true;
}

/* Eight bytes that are ASCII and have no NUL among them. */
static bool text_is_plain(const char *p)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return (((v - ones) | v) & highs) == 0;
}

bool cell_text_is_fine(struct str s)
{
    size_t i = 0;

    while (s.len - i >= 8 && text_is_plain(s.ptr + i))
        i += 8;
    if (i == s.len)
        return true;
    s = str_from(s, i);
    return memchr(s.ptr, '\0', s.len) == NULL && str_is_utf8(s);
}

static bool cast_text(const struct cell *from, struct arena *a, struct cell *ret,
                      const char **ret_why)
{
    (void)a;
    *ret_why = "it is not UTF-8, or has a NUL";
    ret->s = from->s;
    return cell_text_is_fine(from->s);
}

static bool cast_time(const struct cell *from, struct arena *a, struct cell *ret,
                      const char **ret_why)
{
    (void)a;
    (void)ret_why;
    ret->i = from->i;
    return cell_time_is_fine(ret->type, from->i);
}

static bool cast_uuid(const struct cell *from, struct arena *a, struct cell *ret,
                      const char **ret_why)
{
    (void)a;
    (void)ret_why;
    ret->s = from->s;
    return from->s.len == CELL_UUID_BYTES;
}

static bool cast_json(const struct cell *from, struct arena *a, struct cell *ret,
                      const char **ret_why)
{
    return cell_json_normal(from->s, a, &ret->s, ret_why);
}

/* ---- numbers ---- */

static bool cast_int_bool(const struct cell *from, struct arena *a, struct cell *ret,
                          const char **ret_why)
{
    (void)a;
    (void)ret_why;
    ret->i = from->i;
    return from->i == 0 || from->i == 1;
}

static bool cast_int_float(const struct cell *from, struct arena *a, struct cell *ret,
                           const char **ret_why)
{
    (void)a;
    (void)ret_why;
    ret->f = (double)from->i;
    return ret->f < ldexp(1, BIT_OF_INT) && (int64_t)ret->f == from->i;
}

static bool cast_float_int(const struct cell *from, struct arena *a, struct cell *ret,
                           const char **ret_why)
{
    (void)a;
    (void)ret_why;
    if (!(from->f < ldexp(1, BIT_OF_INT) && from->f >= -ldexp(1, BIT_OF_INT)))
        return false;
    ret->i = (int64_t)from->f;
    return (double)ret->i == from->f;
}

static bool cast_dec_int(const struct cell *from, struct arena *a, struct cell *ret,
                         const char **ret_why)
{
    struct str dec;

    (void)ret_why;
    return cell_dec_normal(from->s, a, &dec) && str_to_i64(dec, &ret->i);
}

static bool cast_dec_float(const struct cell *from, struct arena *a, struct cell *ret,
                           const char **ret_why)
{
    struct str dec;

    (void)ret_why;
    return cell_dec_normal(from->s, a, &dec) && cell_dec_to_double(dec, &ret->f);
}

static bool cast_float_dec(const struct cell *from, struct arena *a, struct cell *ret,
                           const char **ret_why)
{
    char text[CELL_DEC_DOUBLE_MOST];

    (void)ret_why;
    ret->s = arena_copy(a, str_mem(text, cell_dec_of_double(from->f, text)));
    return true;
}

/* ---- times ---- */

static bool cast_local_date(const struct cell *from, struct arena *a, struct cell *ret,
                            const char **ret_why)
{
    bool endless = from->i == CELL_FOREVER || from->i == CELL_NEVER;

    (void)a;
    (void)ret_why;
    ret->i = endless ? from->i : from->i / CELL_DAY_US;
    return endless || from->i % CELL_DAY_US == 0;
}

static bool cast_date_local(const struct cell *from, struct arena *a, struct cell *ret,
                            const char **ret_why)
{
    (void)a;
    (void)ret_why;
    ret->i = from->i;
    return from->i == CELL_FOREVER || from->i == CELL_NEVER ||
           !__builtin_mul_overflow(from->i, CELL_DAY_US, &ret->i);
}

/* ---- the table ---- */

static cell_cast_fn *const casts[CELL_TYPES][CELL_TYPES] = {
    [CELL_INT] = { [CELL_INT] = cast_as_is,
                   [CELL_DEC] = cell_text_of_int,
                   [CELL_FLOAT] = cast_int_float,
                   [CELL_TEXT] = cell_text_of_int,
                   [CELL_BOOL] = cast_int_bool,
                   [CELL_INSTANT] = cast_as_is,
                   [CELL_LOCAL] = cast_as_is },
    [CELL_DEC] = { [CELL_INT] = cast_dec_int,
                   [CELL_DEC] = cast_dec,
                   [CELL_FLOAT] = cast_dec_float,
                   [CELL_TEXT] = cast_dec },
    [CELL_FLOAT] = { [CELL_INT] = cast_float_int,
                     [CELL_DEC] = cast_float_dec,
                     [CELL_FLOAT] = cast_float,
                     [CELL_TEXT] = cell_text_of_float },
    [CELL_TEXT] = { [CELL_INT] = cell_text_to_int,
                    [CELL_DEC] = cast_dec,
                    [CELL_FLOAT] = cell_text_to_float,
                    [CELL_TEXT] = cast_text,
                    [CELL_BYTES] = cast_text,
                    [CELL_BOOL] = cell_text_to_bool,
                    [CELL_INSTANT] = cell_text_to_time,
                    [CELL_LOCAL] = cell_text_to_time,
                    [CELL_DATE] = cell_text_to_time,
                    [CELL_TIME] = cell_text_to_time,
                    [CELL_UUID] = cell_text_to_uuid,
                    [CELL_JSON] = cast_json },
    [CELL_BYTES] = { [CELL_TEXT] = cast_text, [CELL_BYTES] = cast_as_is, [CELL_UUID] = cast_uuid },
    [CELL_BOOL] = { [CELL_INT] = cast_int_bool,
                    [CELL_TEXT] = cell_text_of_bool,
                    [CELL_BOOL] = cast_int_bool },
    [CELL_INSTANT] = { [CELL_INT] = cast_as_is,
                       [CELL_TEXT] = cell_text_of_time,
                       [CELL_INSTANT] = cast_as_is,
                       [CELL_LOCAL] = cast_as_is },
    [CELL_LOCAL] = { [CELL_INT] = cast_as_is,
                     [CELL_TEXT] = cell_text_of_time,
                     [CELL_INSTANT] = cast_as_is,
                     [CELL_LOCAL] = cast_as_is,
                     [CELL_DATE] = cast_local_date },
    [CELL_DATE] = { [CELL_TEXT] = cell_text_of_time,
                    [CELL_LOCAL] = cast_date_local,
                    [CELL_DATE] = cast_time },
    [CELL_TIME] = { [CELL_TEXT] = cell_text_of_time, [CELL_TIME] = cast_time },
    [CELL_UUID] = { [CELL_TEXT] = cell_text_of_uuid,
                    [CELL_BYTES] = cast_uuid,
                    [CELL_UUID] = cast_uuid },
    [CELL_JSON] = { [CELL_TEXT] = cast_json, [CELL_JSON] = cast_json },
};

/* Bits: every value of that type has a form in the other.  DATE has days that microseconds in 64
 * bits do not reach, so it is not safe as LOCAL. */
#define CAST_BIT(type) (1u << (type))
static const unsigned casts_safe[CELL_TYPES] = {
    [CELL_INT] =
        CAST_BIT(CELL_DEC) | CAST_BIT(CELL_TEXT) | CAST_BIT(CELL_INSTANT) | CAST_BIT(CELL_LOCAL),
    [CELL_DEC] = CAST_BIT(CELL_TEXT),
    [CELL_FLOAT] = CAST_BIT(CELL_DEC) | CAST_BIT(CELL_TEXT),
    [CELL_TEXT] = CAST_BIT(CELL_BYTES),
    [CELL_BOOL] = CAST_BIT(CELL_INT) | CAST_BIT(CELL_TEXT),
    [CELL_INSTANT] = CAST_BIT(CELL_LOCAL) | CAST_BIT(CELL_INT) | CAST_BIT(CELL_TEXT),
    [CELL_LOCAL] = CAST_BIT(CELL_INSTANT) | CAST_BIT(CELL_INT) | CAST_BIT(CELL_TEXT),
    [CELL_DATE] = CAST_BIT(CELL_TEXT),
    [CELL_TIME] = CAST_BIT(CELL_TEXT),
    [CELL_UUID] = CAST_BIT(CELL_TEXT) | CAST_BIT(CELL_BYTES),
    [CELL_JSON] = CAST_BIT(CELL_TEXT),
};

/* Types whose every value is in its one form: nothing is to be done. */
#define CASTS_OF_ANY \
    (CAST_BIT(CELL_INT) | CAST_BIT(CELL_BYTES) | CAST_BIT(CELL_INSTANT) | CAST_BIT(CELL_LOCAL))

bool cell_cast_is_there(enum cell_type from, enum cell_type to)
{
    return casts[from][to] != NULL;
}

bool cell_cast_is_safe(enum cell_type from, enum cell_type to)
{
    return casts[from][to] != NULL && (from == to || (casts_safe[from] & CAST_BIT(to)) != 0);
}

static bool cast_refuse(const struct cell *from, enum cell_type to, const char *why,
                        struct err *err)
{
    char bytes[256];
    struct arena none = ARENA_INIT(sizeof bytes); /* of the text: what is shown is short */
    struct str shown = cell_text(from, SHOWN_MOST, &none);

    (void)snprintf(bytes, sizeof bytes, "%.*s", STR_ARG(shown));
    arena_done(&none);
    return err_set(err, ERR_PERMANENT, 0, "%s `%s` is no %s%s%s", cell_types[from->type], bytes,
                   cell_types[to], why != NULL ? ": " : "", why != NULL ? why : "");
}

bool cell_cast(const struct cell *from, enum cell_type to, struct arena *a, struct cell *ret,
               struct err *err)
{
    struct cell made = { .type = to };
    const char *why = NULL;

    if (from->type == CELL_NULL) {
        *ret = (struct cell){ .type = CELL_NULL };
        return true;
    }
    if (from->type == to && (CASTS_OF_ANY & CAST_BIT(to)) != 0) {
        *ret = *from;
        return true;
    }
    if (casts[from->type][to] == NULL || !casts[from->type][to](from, a, &made, &why))
        return cast_refuse(from, to, why, err);
    *ret = made;
    return true;
}
