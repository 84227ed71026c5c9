/* health_look.h - looks whether the store can commit.
 *
 * Where nothing is accepted nothing is committed, so a store that is well again would not be
 * noticed, nor one that is locked while nobody sends.  A look is an operation of its own: it takes
 * the locks of an accept and changes nothing; only after a failure it writes, on SQLite, where a
 * commit without a change writes nothing.
 *
 * Threads: one.
 */
#pragma once

#include "store/kernel/health.h"

struct health_look;
struct store;

struct health_look *health_look_new(void);
void health_look_free(struct health_look *l); /* after the writers */

/* Call it every few hundred milliseconds; it does not wait. */
void health_look(struct store *s);
/* As health_is_bad(). */
bool health_of(struct store *s, char ret_why[static HEALTH_WHY], bool *ret_space);
