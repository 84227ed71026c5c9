/* alert.h - alerts: conditions that need a person, raised once and cleared once.
 *
 * At most one alert of a code and object is open, over all nodes; raising it again only counts. The
 * transaction that raises or clears an alert writes a notice for each target.  So no notice is sent
 * about a change that was not committed, and none is lost: it waits until it is sent or given up.
 *
 * Bounded: ALERTS_OPEN_MOST open alerts; cleared ones are deleted after ALERT_KEEP_DAYS.
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/retain_rule.h"

struct store;

enum { ALERTS_OPEN_MOST = 1000, ALERT_TARGETS_MOST = 16, ALERT_KEEP_DAYS = RETAIN_DAYS };

struct alert {
    int64_t num, count;
    int64_t raised_us, last_us, cleared_us;  /* cleared_us 0: open */
    int64_t waiting, given_up;               /* numbers of notices */
    struct str code, object, message, ended; /* ended: why, in a word or two */
};

enum notice_kind { NOTICE_RAISED, NOTICE_CLEARED, NOTICE_REMINDER, NOTICE_KINDS };
enum notice_state { NOTICE_WAITS, NOTICE_SENT, NOTICE_GIVEN_UP, NOTICE_STATES };

extern const char *const notice_kinds[NOTICE_KINDS], *const notice_states[NOTICE_STATES];

struct notice {
    int64_t num, alert, made_us, due_us, attempts, sent_us;
    enum notice_kind kind;
    enum notice_state state;
    struct str target, error;
};

/* The content of an alert, and the targets of its notices. */
struct alert_say {
    struct str code, object;
    struct str message; /* when clearing: the reason */
    int64_t count;
    const struct str *targets; /* names, ALERT_TARGETS_MOST at most */
    size_t target_count;
};

/* *ret_new false: it was open already, and is only counted.  ERR_LIMIT: too many are open. */
bool alert_raise(struct store *s, const struct alert_say *say, int64_t *ret_num, bool *ret_new,
                 struct err *err);
/* Updates message, count and time of an open alert.  *ret_open false: it is not open any more. */
bool alert_keep(struct store *s, const struct alert_say *say, bool *ret_open, struct err *err);
/* *ret_num 0: none was open. */
bool alert_clear(struct store *s, const struct alert_say *say, int64_t *ret_num, struct err *err);
/* Writes reminders if there was no notice for `period_us`; *ret_num 0: not due yet. */
bool alert_remind(struct store *s, const struct alert_say *say, int64_t period_us, int64_t *ret_num,
                  struct err *err);

/* Open alerts by number; with `all` the newest of all. */
bool alert_list(struct store *s, bool all, struct arena *a, struct alert *ret, size_t most,
                size_t *ret_count, struct err *err);
/* False with ERR_NONE: there is no such alert. */
bool alert_get(struct store *s, int64_t num, struct arena *a, struct alert *ret, struct err *err);

/* Due notices to a target (empty: any), oldest first; of each alert only the next one, so that
 * notices are sent in order. */
bool notice_due(struct store *s, struct str target, struct arena *a, struct notice *ret,
                size_t most, size_t *ret_count, struct err *err);
bool notice_list(struct store *s, int64_t alert, struct arena *a, struct notice *ret, size_t most,
                 size_t *ret_count, struct err *err);
/* Records the result of an attempt; NOTICE_WAITS: due again after wait_us. */
bool notice_end(struct store *s, int64_t num, enum notice_state state, int64_t wait_us,
                struct str error, struct err *err);

struct alert_sums {
    int64_t open;    /* alerts */
    int64_t waiting; /* notices, of which ... */
    int64_t late;    /* ... this many failed at least once, or are older than `late_us` */
    int64_t given_up;
};
bool alert_sum(struct store *s, int64_t late_us, struct alert_sums *ret, struct err *err);
