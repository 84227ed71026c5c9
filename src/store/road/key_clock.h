/* key_clock.h - the clock by which idempotency keys are remembered and forgotten.
 *
 * The clock of the store, not of a node: a node whose clock is three days ahead would forget the
 * keys of all others.  A reading that is a step away is doubted until a later one confirms it
 * (core/steady.h); meanwhile keys are stored by the clock as it was, and by neither reading
 * forgotten.  The clock changes only with the commit that made the tables for its time, so no key
 * finds its table missing.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/steady.h"
#include "store/db/db.h"

struct key_clock;

struct key_clock *key_clock_new(void);
void key_clock_free(struct key_clock *c);

/* Reads the clock of the store; nothing goes by the result before key_clock_set().  *ret_again: it
 * was read before. */
bool key_clock_look(struct key_clock *c, struct db *db, struct steady *ret, bool *ret_again,
                    struct err *err);
void key_clock_set(struct key_clock *c, const struct steady *s);

int64_t key_clock_now_us(struct key_clock *c);  /* for keys that are stored */
int64_t key_clock_over_us(struct key_clock *c); /* keys until this time are forgotten */
/* The last reading is doubted: look again soon. */
bool key_clock_is_doubted(struct key_clock *c);

/* The same of a reading that is not in force yet. */
int64_t key_clock_now_of(const struct steady *s);
