#include "job/telling.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/tally/mishaps.h"
#include "engine/watch/alerts.h"

enum { TELLING_NAME = 100 };

struct finding {
    struct finding *next;
    enum telling_of of;
    bool found; /* in the look that is under way */
    char job[TELLING_NAME];
};

struct telling {
    struct alerts *alerts;
    struct mishaps *mishaps;
    struct finding *findings;
    size_t count;
    bool looked[TELLING_KINDS];   /* a whole look was made */
    int64_t lines[TELLING_KINDS]; /* new findings of the look that is under way */
};

static const struct {
    enum alert_code alert;
    const char *hint; /* of the log line; NULL: there is none */
} tellings[TELLING_KINDS] = {
    [TELLING_SUSPENDED] = { .alert = ALERT_JOB_SUSPENDED },
    [TELLING_UNCLAIMED] = { .alert = ALERT_JOB_LATE,
                            .hint = "It runs as soon as a node takes it. See `waybill jobs show` "
                                    "and `waybill node ls`." },
    [TELLING_TOKENLESS] = { .alert = ALERT_JOB_LATE,
                            .hint = "`waybill jobs pause` and then `waybill jobs resume` give it a "
                                    "token again; `waybill doctor` looks for other damage." },
};

struct telling *telling_new(struct alerts *alerts, struct mishaps *mishaps)
{
    struct telling *t = NEW(struct telling);

    *t = (struct telling){ .alerts = alerts, .mishaps = mishaps };
    return t;
}

void telling_free(struct telling *t)
{
    if (t == NULL)
        return;
    for (struct finding *f = t->findings, *next; f != NULL; f = next) {
        next = f->next;
        free(f);
    }
    free(t);
}

static void telling_say(struct telling *t, enum telling_of of, struct str job, const char *message)
{
    if (tellings[of].hint == NULL)
        return;
    if (t->lines[of]++ < TELLING_LINES)
        log_event(LOG_WARN, "job.overdue", kv_str("job", job), kv_z("why", message),
                  kv_z("hint", tellings[of].hint));
    mishaps_note(t->mishaps, "job_late", "job", job, message);
}

static struct finding *telling_find(const struct telling *t, enum telling_of of, struct str job)
{
    struct finding *f = t->findings;

    while (f != NULL && !(f->of == of && str_is(job, f->job)))
        f = f->next;
    return f;
}

void telling_found(struct telling *t, enum telling_of of, struct str job, const char *message)
{
    job = str_first(job, TELLING_NAME - 1);
    struct finding *f = telling_find(t, of, job);

    alerts_see_if(t->alerts, tellings[of].alert, job, true, message);
    if (f == NULL && t->count == TELLING_MOST) {
        t->lines[of]++;
        return;
    }
    if (f == NULL) {
        telling_say(t, of, job, message);
        f = NEW(struct finding);
        *f = (struct finding){ .next = t->findings, .of = of };
        (void)snprintf(f->job, sizeof f->job, "%.*s", STR_ARG(job));
        t->findings = f;
        t->count++;
    }
    f->found = true;
}

/* ---- what is over ---- */

/* Whether a look has found it last, whichever: some share an alert. */
static bool telling_has(const void *telling, enum alert_code alert, struct str job)
{
    const struct telling *t = telling;

    for (const struct finding *f = t->findings; f != NULL; f = f->next)
        if (tellings[f->of].alert == alert && str_is(job, f->job))
            return true;
    return false;
}

/* An alert may be left from before this process began: it is over when every look that could find
 * its reason again was made. */
static void telling_clear(struct telling *t, enum telling_of of)
{
    for (size_t i = 0; i < TELLING_KINDS; i++)
        if (tellings[i].alert == tellings[of].alert && !t->looked[i])
            return;
    alerts_see_over(t->alerts, tellings[of].alert, telling_has, t);
}

void telling_end(struct telling *t, enum telling_of of)
{
    struct finding *f;

    for (struct finding **at = &t->findings; (f = *at) != NULL;) {
        if (f->of != of || f->found) {
            f->found = f->found && f->of != of;
            at = &f->next;
            continue;
        }
        *at = f->next;
        t->count--;
        free(f);
    }
    t->looked[of] = true;
    telling_clear(t, of);
    if (t->lines[of] > TELLING_LINES)
        log_event(LOG_WARN, "job.overdue_more", kv_int("count", t->lines[of] - TELLING_LINES),
                  kv_z("hint", "More jobs are late than were named. See `waybill jobs ls`."));
    t->lines[of] = 0;
}
