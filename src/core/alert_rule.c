#include "core/alert_rule.h"

#include <stddef.h>

const char *const alert_codes[ALERT_CODES + 1] = {
    [ALERT_DEAD_LETTERS] = "dead_letters",
    [ALERT_QUEUE_DEPTH] = "queue_depth",
    [ALERT_QUEUE_AGE] = "queue_age",
    [ALERT_RECEIVER_FAILING] = "receiver_failing",
    [ALERT_RECEIVER_REJECTING] = "receiver_rejecting",
    [ALERT_GATEWAY_FAILING] = "gateway_failing",
    [ALERT_SILENCE] = "silence",
    [ALERT_UNANSWERED] = "unanswered",
    [ALERT_WINDOW_TOO_SHORT] = "window_too_short",
    [ALERT_DISK] = "disk",
    [ALERT_STUCK] = "stuck",
    [ALERT_CERTIFICATE] = "certificate",
    [ALERT_OLD_SERVER] = "old_server",
    [ALERT_THREADS] = "threads",
    [ALERT_JOB_SUSPENDED] = "job_suspended",
    [ALERT_JOB_LATE] = "job_late",
    [ALERT_LINK_STOPPED] = "link_stopped",
    [ALERT_LINK_LATE] = "link_late",
    [ALERT_ROWS_DIFFER] = "rows_differ",
    [ALERT_QUARANTINE] = "quarantine",
    [ALERT_CHECK_FOUND] = "check_found",
    [ALERT_SCALE_OUT] = "scale_out",
    [ALERT_SCALE_IN] = "scale_in",
    [ALERT_CODES] = NULL,
};

enum alert_code alert_code_of(struct str name)
{
    enum alert_code code = ALERT_DEAD_LETTERS;

    while (code < ALERT_CODES && !str_is(name, alert_codes[code]))
        code++;
    return code;
}

enum alert_change alert_watch_look(struct alert_watch *w, const struct alert_rule *r, int64_t value,
                                   int64_t now_us)
{
    bool was = w->on;

    if (r->off) {
        *w = (struct alert_watch){ 0 };
        return was ? ALERT_CLEARED : ALERT_SAME;
    }
    if (was ? value > r->low : value < r->high) {
        w->leaning = false;
        w->looks = 0;
        return ALERT_SAME;
    }
    if (!w->leaning)
        w->since_us = now_us;
    w->leaning = true;
    w->looks++;
    if (w->looks < ALERT_LOOKS || now_us - w->since_us < (was ? r->calm_us : r->after_us))
        return ALERT_SAME;
    *w = (struct alert_watch){ .on = !was };
    return was ? ALERT_CLEARED : ALERT_RAISED;
}
