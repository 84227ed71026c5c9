/* cell_dec.h - decimal numbers as text, in their one form (cell.h): the inside of cell.h.
 *
 * Nothing here computes with doubles where a decimal is meant.  A double has as decimal the
 * shortest number that reads back as it, so a decimal has a form as double exactly if it is that
 * number: 0.1 has one, 0.1000000000000000055 has none.
 *
 * Threads: any; nothing here has a state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

enum {
    CELL_DEC_MOST = 160000,    /* bytes of a number; more than any database here has */
    CELL_DEC_DOUBLE_MOST = 400 /* of a double, in either form */
};

bool cell_dec_is_normal(struct str s);

/* How many bytes the one form of a number takes; 0: it is no number, or over CELL_DEC_MOST.  Takes
 * signs, zeros where they do not count, exponents, and NaN and infinities in any case. */
size_t cell_dec_size(struct str number);
/* Writes that form of a number that has one; returns its end. */
char *cell_dec_put(struct str number, char *to);

/* A number in its one form, lent if it has it.  False: it is no number, or there is no room. */
bool cell_dec_normal(struct str number, struct arena *a, struct str *ret);

/* A number in its one form to so many digits behind the point, half away from zero. */
bool cell_dec_round(struct str dec, int digits, struct arena *a, struct str *ret);

/* The decimal of a double; returns its length. */
size_t cell_dec_of_double(double f, char to[static CELL_DEC_DOUBLE_MOST]);
/* The double as people write it: with an exponent if it is very large or small. */
size_t cell_dec_text_of_double(double f, char to[static CELL_DEC_DOUBLE_MOST]);
/* The double of a number in its one form; false: none has it. */
bool cell_dec_to_double(struct str dec, double *ret);
/* The one that is next to it; false: it has more digits than the decimal of any double. */
bool cell_dec_near_double(struct str dec, double *ret);

/* -0 is 0, and there is one NaN. */
double cell_dec_one_double(double f);
