/* health.h - whether the store can commit, by its last commits.
 *
 * The writers note how each group ended.  A group that failed for a reason of the store (locked,
 * full, unreachable) means that nothing can be stored, until another one is committed.  A group
 * that failed because of one operation proves nothing; it is a reason to look (health_look.h).
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct health;

struct health *health_new(void);
void health_free(struct health *h);

/* For the writers: a group is committed; or it failed.  own_fault: of the one operation in it. */
void health_committed(struct health *h);
void health_failed(struct health *h, const struct err *err, bool own_fault);
/* A read connection found damage: nothing is stored any more until the next start. */
void health_damaged(struct health *h);

/* For looks: one begins, if it is time for one; *ret_writes: something failed before, so it must
 * write.  And its end. */
bool health_look_begin(struct health *h, bool *ret_writes);
void health_look_end(struct health *h, bool ok, const struct err *err);

enum { HEALTH_WHY = 260 };
/* True: nothing can be stored; why, and whether for want of space. */
bool health_is_bad(struct health *h, char ret_why[static HEALTH_WHY], bool *ret_space);
