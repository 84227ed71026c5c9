/* schedule.h - when a job runs next: pure rules.
 *
 * The caller keeps a struct schedule_known for each job.  schedule_next() says what follows from it
 * at a given time; it changes nothing, and asked again at a later time it gives the same iteration
 * or one that replaces it.  So it is asked when a job comes, when an iteration has ended, and again
 * when the iteration is about to begin, because nodes may have been down in between. schedule_end()
 * takes the end of an iteration into the struct.
 *
 * A job has one of three forms:
 *
 *   every  An iteration begins `every` after the end of the one before.  After iterations that find
 *          nothing the wait doubles, up to `idle_most`.  The nominal time is that instant.
 *   at     Nominal times are those of nominal.h.  They never depend on earlier iterations, so they
 *          do not drift.
 *   once   One nominal time.
 *
 * Missed times (of `at` and `once`).  A nominal time is missed when a later one has come, or when
 * it is over SCHEDULE_LATE_US (and its jitter) ago.  catch_up says what happens to missed times:
 *   skip   they are left out;
 *   once   the latest is served, the others are left out;
 *   all    the latest `catch_up_most` are served, in order, the others are left out.
 * Times on holidays, in closed windows, up to `paused_us` and after `until` are left out always.
 *
 * Whatever is due waits until the window is open and the holiday is over, repetitions too.
 *
 * A full batch that moved on is followed by another iteration at once.  That of `at` and `once`
 * belongs to the same time of the schedule: its nominal time is a microsecond later, so that it is
 * distinct and still precedes the next.  A full batch that did not move on is not repeated at once:
 * it would be the same batch again, for ever.
 *
 * A failed iteration is repeated under its nominal time by `retry` (retry.h), until its `for` is
 * over; then it counts as failed.  After `suspend` of those in a row the job is suspended.
 *
 * Chance (jitter, the waits of `retry`) is computed from a seed of the job and the nominal time:
 * the same question has the same answer on every node.
 *
 * The clock.  now_us is a steady clock (steady.h), which has confirmed jumps before it shows them.
 * After a jump back no nominal time is served again that is settled.  One that is settled over a
 * day ahead of the clock was settled by a clock that was wrong: the schedule goes on from now.
 *
 * Invariants
 *   (1) a nominal time is at most once the result of schedule_next() with SCHEDULE_DUE between two
 *       calls of schedule_end(), and never once it is settled.
 *   (2) settled_us never exceeds now_us, nor nominal_us.
 *   (3) every nominal time up to settled_us is served or counted in `left`, in one of the calls.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/nominal.h"
#include "core/retry.h"

enum schedule_form { SCHEDULE_EVERY, SCHEDULE_AT, SCHEDULE_ONCE };
enum schedule_catch_up { SCHEDULE_SKIP, SCHEDULE_LATEST, SCHEDULE_ALL };

#define SCHEDULE_LATE_US (INT64_C(60) * 1000000)

enum {
    SCHEDULE_TIMES_MOST = 100, /* of `at` */
    SCHEDULE_CATCH_UP_MOST = 10000,
    SCHEDULE_COUNT_MOST = 50000 /* times that are left out at once: more are not counted */
};

struct schedule {
    enum schedule_form form;
    struct nominal times;           /* of SCHEDULE_AT; zone, holidays and window of all forms */
    int64_t every_us, idle_most_us; /* idle_most_us 0: the wait does not double */
    int64_t once_us;
    int64_t jitter_us;
    int64_t runs;     /* 0: no limit */
    int64_t until_us; /* no nominal time after it; 0: no limit */
    enum schedule_catch_up catch_up;
    int64_t catch_up_most;
    struct retry_rule retry;
    int64_t suspend; /* 0: never */
};

/* What is known of a job.  A new job has last_us set to the present, all else zero. */
struct schedule_known {
    int64_t last_us;   /* settled: every nominal time up to here was served or left out */
    int64_t ended_us;  /* the end of the last iteration; 0: none yet */
    int64_t paused_us; /* nominal times up to here passed while the job was paused or another
                        * schedule was in force: they are left out */
    int64_t runs;      /* times of the schedule that were served */
    int64_t failures;  /* iterations in a row that counted as failed */
    int64_t idle;      /* iterations in a row that found nothing */
    bool more;         /* the last batch was full, and moved on */
    /* An iteration that failed and is repeated; tries 0: none. */
    int64_t tries, nominal_us, first_us; /* first_us: when its first try began */
};

enum schedule_what { SCHEDULE_DUE, SCHEDULE_ENDED, SCHEDULE_SUSPENDED };

/* Why a job has no next iteration. */
enum schedule_end_why {
    SCHEDULE_GOES_ON,
    SCHEDULE_RUNS_OVER,  /* `runs` */
    SCHEDULE_UNTIL_OVER, /* `until` */
    SCHEDULE_ONCE_OVER,  /* its only time was served, left out, or was before the job came */
    SCHEDULE_NEVER       /* no time is left: holidays and windows exclude all of them */
};

enum schedule_reason {
    SCHEDULE_MISSED,  /* nobody ran it in time, and catch_up does not serve it */
    SCHEDULE_TOO_OLD, /* more than catch_up_most were missed */
    SCHEDULE_HOLIDAY,
    SCHEDULE_WINDOW,
    SCHEDULE_PAUSED,
    SCHEDULE_CHANGED, /* it had other settings: said by who asks, instead of PAUSED */
    SCHEDULE_REASONS
};

struct schedule_left {
    int64_t count, first_us, last_us;
};

struct schedule_next {
    enum schedule_what what;
    enum schedule_end_why why;
    int64_t nominal_us, due_us; /* of SCHEDULE_DUE */
    bool late;                  /* a missed time that is caught up with */
    /* To be stored as last_us, in the commit that counts and reports `left`. */
    int64_t settled_us;
    struct schedule_left left[SCHEDULE_REASONS];
    bool left_more; /* there are more than SCHEDULE_COUNT_MOST, which were not counted */
};

struct schedule_next schedule_next(const struct schedule *s, const struct schedule_known *k,
                                   int64_t now_us, uint64_t seed);

/* How an iteration ended. */
enum schedule_outcome {
    SCHEDULE_FULL,    /* its batch was full, and it moved on */
    SCHEDULE_MOVED,   /* it found something; or the batch was full and it did not move on */
    SCHEDULE_NOTHING, /* it found nothing to do */
    SCHEDULE_FAILED
};

struct schedule_run {
    int64_t nominal_us, began_us, ended_us;
    enum schedule_outcome outcome;
};

/* Takes the end of an iteration into *k.  True: the iteration is settled; false: it failed and is
 * repeated. */
bool schedule_end(const struct schedule *s, struct schedule_known *k,
                  const struct schedule_run *run, uint64_t seed);

/* The word of a reason, and that of the end of a job, for logs and for JSON. */
const char *schedule_reason_word(enum schedule_reason reason);
const char *schedule_end_word(enum schedule_end_why why);
