/* purger.h - deletes documents past their retention; a thread of its own.
 *
 * Every half minute the purger checks the clock.  Days that are over are purged one after the
 * other, in slices with rests, so that senders notice nothing; rests are shorter when more than two
 * days are due or the disk is short of space.  With an archive each day is first copied there and
 * compared (archiver.h).  Then payloads are deleted.  Dead letters are discarded only if a rule
 * says so, announced days before.
 *
 * While the configuration in force has a job of kind `retain`, nothing is purged by itself, but in
 * the rounds that runs of that job ask for, and for people.
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

struct duty_count;
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

/* For a job: one round, as soon as the clock is steady and no backup is under way.  Returns its
 * number. */
int64_t purger_begin(struct purger *r);
/* The round ends after its present slice, with more to do. */
void purger_halt(struct purger *r, int64_t number);

struct purger_round {
    bool over;               /* else nothing else is known */
    bool ok;                 /* else `trouble` says why */
    bool unsteady;           /* nothing was done, because the clock is not steady yet */
    bool halted;             /* it was halted, or interrupted by a backup */
    bool guarded;            /* the guard stopped it for this hour */
    int64_t documents, dead; /* documents purged, dead letters discarded */
    char trouble[200];
};
/* Of the last round that a job asked for; `over` is also set for older ones. */
void purger_look_at_round(struct purger *r, int64_t number, struct purger_round *ret);

/* Its looks, one each half minute. */
void purger_duty(struct purger *r, int64_t *ret_every_us, struct duty_count *ret);

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
