#include "core/schedule/schedule.h"

#include "base/clock.h"
#include "base/require.h"

#define SCHEDULE_DAY_US (INT64_C(86400) * CLOCK_S)

/* ---- chance ---- */

/* Mixes all bits, so that consecutive numbers give unrelated results (splitmix64). */
static uint64_t schedule_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t schedule_chance(uint64_t seed, int64_t nominal_us, int64_t tries)
{
    return schedule_mix(seed ^ schedule_mix((uint64_t)nominal_us ^ schedule_mix((uint64_t)tries)));
}

static int64_t schedule_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How long after its nominal time an iteration is due: at random up to `jitter`, but before the
 * next nominal time, while the window is open, and not on a holiday. */
static int64_t schedule_jitter(const struct schedule *s, int64_t nominal_us, uint64_t seed)
{
    int64_t most = s->jitter_us, change, next;

    if (most == 0)
        return 0;
    if (s->form == SCHEDULE_AT && (next = nominal_next(&s->times, nominal_us, NULL)) != 0)
        most = schedule_least(most, next - nominal_us - 1);
    uint64_t chance = schedule_chance(seed, nominal_us, 0);
    int64_t wait = (int64_t)(chance % (uint64_t)(most + 1));

    if (nominal_why(&s->times, nominal_us + wait) == NOMINAL_COUNTS)
        return wait;
    if (window_set_open(s->times.window, nominal_us, &change) && change != 0)
        wait = (int64_t)(chance % (uint64_t)schedule_least(most + 1, change - nominal_us));
    return nominal_why(&s->times, nominal_us + wait) == NOMINAL_COUNTS ? wait : 0;
}

/* ---- nominal times of `at` ---- */

/* The next one that counts; 0: none, or it is after `until`. */
static int64_t schedule_after(const struct schedule *s, int64_t after_us)
{
    int64_t at = nominal_next(&s->times, after_us, NULL);

    return s->until_us != 0 && at > s->until_us ? 0 : at;
}

/* How many of (from_us, to_us] count, up to `most`. */
static int64_t schedule_count(const struct schedule *s, int64_t from_us, int64_t to_us,
                              int64_t most)
{
    int64_t n = 0;

    for (int64_t at = schedule_after(s, from_us); at != 0 && at <= to_us && n < most;
         at = schedule_after(s, at))
        n++;
    return n;
}

/* Where to start so that `want` times lie between there and to_us; last_us if there are fewer.  Not
 * at last_us if that is long ago: an every-minute schedule would take too many steps. */
static int64_t schedule_near(const struct schedule *s, int64_t last_us, int64_t to_us, int64_t want)
{
    static const int64_t back[] = { SCHEDULE_DAY_US / 24, SCHEDULE_DAY_US, 32 * SCHEDULE_DAY_US,
                                    400 * SCHEDULE_DAY_US, 4000 * SCHEDULE_DAY_US };

    for (size_t i = 0; i < sizeof back / sizeof back[0]; i++) {
        int64_t from_us = to_us - back[i];

        if (from_us <= last_us)
            break;
        if (schedule_count(s, from_us, to_us, want) == want)
            return from_us;
    }
    return last_us;
}

/* The first of the latest `most` times of (last_us, to_us], which has one. */
static int64_t schedule_latest(const struct schedule *s, int64_t last_us, int64_t to_us,
                               int64_t most)
{
    int64_t from_us = schedule_near(s, last_us, to_us, most);
    int64_t skip = schedule_count(s, from_us, to_us, INT64_MAX) - most;
    int64_t at = schedule_after(s, from_us);

    for (; skip > 0; skip--)
        at = schedule_after(s, at);
    return at;
}

/* It may have begun only now because nodes are busy, and not because nobody was there.  That of
 * `once` may have had to wait for a window. */
static bool schedule_is_fresh(const struct schedule *s, int64_t nominal_us, int64_t now_us,
                              uint64_t seed)
{
    int64_t due_us = nominal_open(&s->times, nominal_us + schedule_jitter(s, nominal_us, seed));

    return now_us <= due_us + SCHEDULE_LATE_US;
}

/* The time to serve, of those after start_us: by `catch_up` if any has come; 0: none is left. */
static int64_t schedule_pick(const struct schedule *s, int64_t start_us, int64_t now_us,
                             uint64_t seed)
{
    int64_t first = schedule_after(s, start_us), newest;

    if (first == 0 || first > now_us)
        return first;
    if (s->catch_up == SCHEDULE_ALL)
        return schedule_latest(s, start_us, now_us, s->catch_up_most);
    newest = schedule_latest(s, start_us, now_us, 1);
    if (s->catch_up == SCHEDULE_LATEST || schedule_is_fresh(s, newest, now_us, seed))
        return newest;
    return schedule_after(s, now_us);
}

static enum schedule_reason schedule_reason_of(const struct schedule *s, int64_t paused_us,
                                               int64_t at_us)
{
    switch (nominal_why(&s->times, at_us)) {
    case NOMINAL_HOLIDAY:
        return SCHEDULE_HOLIDAY;
    case NOMINAL_WINDOW:
        return SCHEDULE_WINDOW;
    case NOMINAL_COUNTS:
        break;
    }
    if (at_us <= paused_us)
        return SCHEDULE_PAUSED;
    return s->catch_up == SCHEDULE_ALL ? SCHEDULE_TOO_OLD : SCHEDULE_MISSED;
}

static void schedule_leave_one(struct schedule_next *next, enum schedule_reason reason,
                               int64_t at_us)
{
    struct schedule_left *left = &next->left[reason];

    if (left->count++ == 0)
        left->first_us = at_us;
    left->last_us = at_us;
    next->settled_us = at_us;
}

/* Counts the times of (settled_us, to_us], all of which are left out, and settles them. */
static void schedule_leave(const struct schedule *s, int64_t paused_us, int64_t to_us,
                           struct schedule_next *next)
{
    int n = 0;

    if (s->until_us != 0)
        to_us = schedule_least(to_us, s->until_us);
    for (int64_t at = next->settled_us; (at = nominal_any(&s->times, at)) != 0 && at <= to_us;) {
        if (n++ == SCHEDULE_COUNT_MOST) {
            next->left_more = true;
            next->settled_us = to_us;
            return;
        }
        schedule_leave_one(next, schedule_reason_of(s, paused_us, at), at);
    }
}

/* ---- the next iteration ---- */

static void schedule_over(struct schedule_next *next, enum schedule_end_why why)
{
    next->what = SCHEDULE_ENDED;
    next->why = why;
    next->nominal_us = next->due_us = 0;
    next->late = false;
}

/* Due at due_us, or when work may run again after that. */
static void schedule_put(const struct schedule *s, int64_t nominal_us, int64_t due_us,
                         struct schedule_next *next)
{
    next->nominal_us = nominal_us;
    next->due_us = nominal_open(&s->times, due_us);
    if (next->due_us == 0)
        schedule_over(next, SCHEDULE_NEVER);
}

/* A nominal time of `at` or `once` that is not settled. */
static void schedule_put_time(const struct schedule *s, int64_t nominal_us, int64_t now_us,
                              uint64_t seed, struct schedule_next *next)
{
    int64_t due_us = nominal_us + schedule_jitter(s, nominal_us, seed);

    next->late = !schedule_is_fresh(s, nominal_us, now_us, seed);
    if (due_us < now_us && nominal_why(&s->times, now_us) != NOMINAL_COUNTS)
        due_us = now_us; /* too late for today's window */
    schedule_put(s, nominal_us, due_us, next);
}

static void schedule_next_at(const struct schedule *s, const struct schedule_known *k,
                             int64_t now_us, uint64_t seed, struct schedule_next *next)
{
    int64_t paused_us = schedule_least(k->paused_us, now_us);
    int64_t start_us = next->settled_us > paused_us ? next->settled_us : paused_us;
    int64_t nominal_us = schedule_pick(s, start_us, now_us, seed);

    schedule_leave(s, paused_us, nominal_us != 0 && nominal_us <= now_us ? nominal_us - 1 : now_us,
                   next);
    if (nominal_us != 0)
        schedule_put_time(s, nominal_us, now_us, seed, next);
    else
        schedule_over(next, s->until_us != 0 ? SCHEDULE_UNTIL_OVER : SCHEDULE_NEVER);
}

/* last_us and not settled_us: a wrong clock does not bring back a time that was served. */
static void schedule_next_once(const struct schedule *s, const struct schedule_known *k,
                               int64_t now_us, uint64_t seed, struct schedule_next *next)
{
    int64_t at = s->once_us;
    bool paused = at <= schedule_least(k->paused_us, now_us);

    if (at <= k->last_us || (s->until_us != 0 && at > s->until_us)) {
        schedule_over(next, SCHEDULE_ONCE_OVER);
        return;
    }
    if (paused || (s->catch_up == SCHEDULE_SKIP && !schedule_is_fresh(s, at, now_us, seed))) {
        schedule_leave_one(next, paused ? SCHEDULE_PAUSED : SCHEDULE_MISSED, at);
        schedule_over(next, SCHEDULE_ONCE_OVER);
        return;
    }
    schedule_put_time(s, at, now_us, seed, next);
}

/* The wait of `every`: it doubles from the second iteration in a row on that finds nothing. */
static int64_t schedule_idle_wait(const struct schedule *s, int64_t idle)
{
    int64_t wait = s->every_us;

    for (; idle > 1 && wait < s->idle_most_us; idle--)
        wait = schedule_least(wait * 2, s->idle_most_us);
    return wait;
}

/* The end of the last iteration, unless a clock that was wrong has recorded it. */
static int64_t schedule_ended(const struct schedule_known *k, int64_t now_us)
{
    return k->ended_us - now_us > SCHEDULE_DAY_US ? now_us : k->ended_us;
}

static void schedule_next_every(const struct schedule *s, const struct schedule_known *k,
                                int64_t now_us, uint64_t seed, struct schedule_next *next)
{
    int64_t ended_us = schedule_ended(k, now_us);
    int64_t at = ended_us == 0 ? next->settled_us
                 : k->more     ? ended_us
                               : ended_us + schedule_idle_wait(s, k->idle);

    if (ended_us != 0 && at <= next->settled_us)
        at = next->settled_us + 1; /* an iteration that took no time */
    at = nominal_open(&s->times, at);
    if (at == 0)
        schedule_over(next, SCHEDULE_NEVER);
    else if (s->until_us != 0 && at > s->until_us)
        schedule_over(next, SCHEDULE_UNTIL_OVER);
    else
        schedule_put(s, at, at + schedule_jitter(s, at, seed), next);
}

static void schedule_next_try(const struct schedule *s, const struct schedule_known *k,
                              int64_t now_us, uint64_t seed, struct schedule_next *next)
{
    int64_t wait_us =
        retry_wait_us(&s->retry, k->tries, schedule_chance(seed, k->nominal_us, k->tries));

    schedule_put(s, k->nominal_us, schedule_ended(k, now_us) + wait_us, next);
}

struct schedule_next schedule_next(const struct schedule *s, const struct schedule_known *k,
                                   int64_t now_us, uint64_t seed)
{
    struct schedule_next next = { .what = SCHEDULE_DUE, .settled_us = k->last_us };

    if (k->last_us - now_us > SCHEDULE_DAY_US)
        next.settled_us = now_us; /* settled by a clock that was wrong */
    if (s->suspend != 0 && k->failures >= s->suspend)
        next.what = SCHEDULE_SUSPENDED;
    else if (k->tries > 0)
        schedule_next_try(s, k, now_us, seed, &next);
    else if (k->more && s->form != SCHEDULE_EVERY)
        schedule_put(s, k->last_us + 1, schedule_ended(k, now_us), &next);
    else if (s->runs != 0 && k->runs >= s->runs)
        schedule_over(&next, SCHEDULE_RUNS_OVER);
    else if (s->form == SCHEDULE_EVERY)
        schedule_next_every(s, k, now_us, seed, &next);
    else if (s->form == SCHEDULE_AT)
        schedule_next_at(s, k, now_us, seed, &next);
    else
        schedule_next_once(s, k, now_us, seed, &next);
    require(next.settled_us <= now_us || next.settled_us == k->last_us); /* (2) */
    return next;
}

/* ---- the end of an iteration ---- */

/* The iteration is repeated: its next try comes before `for` is over. */
static bool schedule_repeat(const struct schedule *s, struct schedule_known *k,
                            const struct schedule_run *run, uint64_t seed)
{
    bool again = k->tries > 0 && k->nominal_us == run->nominal_us;
    int64_t tries = again ? k->tries + 1 : 1, first_us = again ? k->first_us : run->began_us;
    int64_t wait_us =
        retry_wait_us(&s->retry, tries, schedule_chance(seed, run->nominal_us, tries));

    if (s->retry.for_us == 0 || retry_is_over(&s->retry, first_us, run->ended_us + wait_us))
        return false;
    k->tries = tries;
    k->nominal_us = run->nominal_us;
    k->first_us = first_us;
    k->ended_us = run->ended_us;
    return true;
}

bool schedule_end(const struct schedule *s, struct schedule_known *k,
                  const struct schedule_run *run, uint64_t seed)
{
    bool failed = run->outcome == SCHEDULE_FAILED;
    bool same_time = k->more && s->form != SCHEDULE_EVERY && run->nominal_us == k->last_us + 1;

    if (failed && schedule_repeat(s, k, run, seed))
        return false;
    k->tries = k->nominal_us = k->first_us = 0;
    k->failures = failed ? k->failures + 1 : 0;
    k->idle = run->outcome == SCHEDULE_NOTHING ? k->idle + 1 : 0;
    k->more = run->outcome == SCHEDULE_FULL;
    k->runs += same_time ? 0 : 1;
    k->ended_us = run->ended_us;
    k->last_us = run->nominal_us;
    return true;
}

/* ---- words ---- */

const char *schedule_reason_word(enum schedule_reason reason)
{
    static const char *const words[SCHEDULE_REASONS] = {
        [SCHEDULE_MISSED] = "missed",   [SCHEDULE_TOO_OLD] = "catch_up_most",
        [SCHEDULE_HOLIDAY] = "holiday", [SCHEDULE_WINDOW] = "window",
        [SCHEDULE_PAUSED] = "paused",   [SCHEDULE_CHANGED] = "changed"
    };

    return words[reason];
}

const char *schedule_end_word(enum schedule_end_why why)
{
    static const char *const words[] = { [SCHEDULE_GOES_ON] = "",
                                         [SCHEDULE_RUNS_OVER] = "runs",
                                         [SCHEDULE_UNTIL_OVER] = "until",
                                         [SCHEDULE_ONCE_OVER] = "once",
                                         [SCHEDULE_NEVER] = "never" };

    return words[why];
}
