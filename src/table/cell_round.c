/* cell_round.c - values rounded to so many digits. */
#include "table/cell_cast.h"
#include "table/cell_dec.h"
#include "table/cell_time.h"

enum { TIME_DIGITS = 6 };

/* Half up, as it is done with times; at the ends of time the value stays. */
static int64_t round_time(enum cell_type type, int64_t us, int digits)
{
    int64_t unit = 1, rest, ret;

    for (int i = digits; i < TIME_DIGITS; i++)
        unit *= 10;
    rest = (us % unit + unit) % unit;
    if (__builtin_sub_overflow(us, rest, &ret))
        return us;
    if (rest * 2 >= unit && __builtin_add_overflow(ret, unit, &ret))
        return us;
    return ret == CELL_FOREVER || ret == CELL_NEVER || !cell_time_is_fine(type, ret) ? us : ret;
}

static bool round_float(double f, int digits, struct arena *a, double *ret)
{
    char text[CELL_DEC_DOUBLE_MOST];
    struct str dec = { text, cell_dec_of_double(f, text) };

    return cell_dec_round(dec, digits, a, &dec) && cell_dec_near_double(dec, ret);
}

bool cell_round(const struct cell *from, int digits, struct arena *a, struct cell *ret,
                struct err *err)
{
    struct cell made = *from;

    switch (from->type) {
    case CELL_INSTANT:
    case CELL_LOCAL:
        if (from->i == CELL_FOREVER || from->i == CELL_NEVER)
            break;
        /* fall through */
    case CELL_TIME:
        made.i = digits < 0 ? from->i : round_time(from->type, from->i, digits);
        break;
    case CELL_DEC:
        if (!cell_dec_round(from->s, digits, a, &made.s))
            return err_set(err, ERR_LIMIT, 0, "a number is too large to be rounded");
        break;
    case CELL_FLOAT:
        if (!round_float(from->f, digits, a, &made.f))
            return err_set(err, ERR_LIMIT, 0, "a number is too large to be rounded");
        break;
    default:
        break;
    }
    *ret = made;
    return true;
}
