/* purger.h - deletes documents past their retention; a thread of its own.
 *
 * Every half minute the purger checks the clock.  Days that are over are purged one after the
 * other, in slices with rests, so that senders notice nothing; rests are shorter when more than two
 * days are due or the disk is short of space.  With an archive each day is first copied there and
 * compared (archiver.h).  Then payloads are deleted.  Dead letters are discarded only if a rule
 * says so, announced days before.
 *
 * Nothing is purged by a clock that was not steady for ten minutes, unless a person asks; and no
 * more per hour than the guard allows (core/retain_rule.h), unless a person says so.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
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
void purger_hurry(struct purger *r); /* NULL is fine; it ends soon */
/* NULL is fine; waits for the current slice.  Returns threads that hang (archiver.h). */
size_t purger_stop(struct purger *r);

/* Purge now, without waiting for a steady clock.  all: ignore the guard. */
void purger_ask(struct purger *r, struct str who, bool all);

struct purger_view {
    const char *state;        /* rests, archives, lets go, cleans, paused */
    int64_t documents, bytes; /* purged since the start of this node */
    int64_t freed;            /* disk space freed, likewise */
    int64_t looked_us;        /* the end of the last round; 0: none */
    int64_t due;              /* days that may be purged, as last counted */
    int64_t dead, dead_soon;  /* dead letters: discarded; due within three days */
    bool guarded;             /* the guard stopped it for this hour */
    bool steady;              /* the clock is steady */
    char trouble[200];        /* of the last round; empty: none */
};
void purger_look(struct purger *r, struct purger_view *ret);
