/* telling.h - what the queue check has found of jobs is told once, and again when it comes back.
 *
 * Each finding is a log line and a mishap when it is new, and an alert as long as it lasts.  What
 * a whole look does not find any more is forgotten, and its alert ends, whoever raised it.  A flood
 * is cut: after TELLING_LINES findings of one look the rest is one line with a count, and so is,
 * once, what is found beyond TELLING_MOST of a kind; mishaps and alerts have limits of their own.
 *
 * Threads: one.
 */
#pragma once

#include "base/str.h"

struct alerts;
struct mishaps;
struct telling;

enum { TELLING_MOST = 2000 /* of each kind */, TELLING_LINES = 20 };

enum telling_of {
    TELLING_SUSPENDED, /* alert job_suspended; whoever suspended it has logged it */
    TELLING_UNCLAIMED, /* it is due, and no node takes it: alert job_late */
    TELLING_TOKENLESS, /* it will never run: alert job_late */
    TELLING_KINDS
};

struct telling *telling_new(struct alerts *alerts, struct mishaps *mishaps);
void telling_free(struct telling *t); /* NULL is fine */

void telling_found(struct telling *t, enum telling_of of, struct str job, const char *message);
/* A whole look is over. */
void telling_end(struct telling *t, enum telling_of of);
