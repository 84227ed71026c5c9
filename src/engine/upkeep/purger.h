/* purger.h - lets go of what was kept long enough; a thread of its own.
 *
 * Each half minute it looks at the clock.  Days that are over go one after the other, in slices
 * with rests in between, so that nobody who sends notices, and with shorter ones when more than two
 * are due or the disk is short of room; with an archive each is copied there and compared first.
 * Then their bytes go.  Dead letters are discarded only when a rule says so,
 * and it is told days before.
 *
 * Nothing goes by a clock that was not steady for ten minutes, unless a person asks; and no more
 * in an hour than the guard lets (core/retain_rule.h), unless a person says so.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct govern;
struct mishaps;
struct purger;
struct road;
struct store;

struct purger_options {
    struct store *store;
    struct road *road;
    struct govern *govern;
    struct mishaps *mishaps;
    int64_t disk_reserve_bytes;
};

struct purger *purger_start(const struct purger_options *options);
void purger_stop(struct purger *r); /* NULL is fine; waits for its slice */

/* Look now, and do not wait for the clock to prove itself.  all: without the guard. */
void purger_ask(struct purger *r, struct str who, bool all);

struct purger_view {
    const char *state;        /* rests, archives, lets go, cleans, paused */
    int64_t documents, bytes; /* that went, since the start of this node */
    int64_t freed;            /* bytes that came back to the disk, likewise */
    int64_t looked_us;        /* the last look that came to its end; 0: none */
    int64_t due;              /* days that may go, at the last look */
    int64_t dead, dead_soon;  /* letters that were discarded; that will be, within three days */
    bool guarded;             /* more may go, in the next hour */
    bool steady;              /* the clock has proved itself */
    char trouble[200];        /* of the last look; empty: none */
};
void purger_look(struct purger *r, struct purger_view *ret);
