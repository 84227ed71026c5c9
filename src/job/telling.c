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
    bool found; /* in the look that is under way */
    char job[TELLING_NAME];
};

/* What looks for one thing have found. */
struct telling_list {
    struct finding *findings;
    size_t count;
    bool looked;    /* a whole look was made */
    bool crowded;   /* the last whole look found more than the list takes */
    int64_t lines;  /* new findings of the look that is under way */
    int64_t beyond; /* what it found while the list was full */
};

struct telling {
    struct alerts *alerts;
    struct mishaps *mishaps;
    struct telling_list lists[TELLING_KINDS];
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
    for (size_t i = 0; i < TELLING_KINDS; i++)
        for (struct finding *f = t->lists[i].findings, *next; f != NULL; f = next) {
            next = f->next;
            free(f);
        }
    free(t);
}

static void telling_say(struct telling *t, enum telling_of of, struct str job, const char *message)
{
    if (tellings[of].hint == NULL)
        return;
    if (t->lists[of].lines++ < TELLING_LINES)
        log_event(LOG_WARN, "job.overdue", kv_str("job", job), kv_z("why", message),
                  kv_z("hint", tellings[of].hint));
    mishaps_note(t->mishaps, "job_late", "job", job, message);
}

static struct finding *telling_find(const struct telling_list *l, struct str job)
{
    struct finding *f = l->findings;

    while (f != NULL && !str_is(job, f->job))
        f = f->next;
    return f;
}

void telling_found(struct telling *t, enum telling_of of, struct str job, const char *message)
{
    struct telling_list *l = &t->lists[of];

    job = str_first(job, TELLING_NAME - 1);
    struct finding *f = telling_find(l, job);

    alerts_see_if(t->alerts, tellings[of].alert, job, true, message);
    if (f == NULL && l->count == TELLING_MOST) {
        l->beyond++; /* whether it is new is not known */
        return;
    }
    if (f == NULL) {
        telling_say(t, of, job, message);
        f = NEW(struct finding);
        *f = (struct finding){ .next = l->findings };
        (void)snprintf(f->job, sizeof f->job, "%.*s", STR_ARG(job));
        l->findings = f;
        l->count++;
    }
    f->found = true;
}

/* ---- what is over ---- */

/* Whether a look has found it last, whichever: some share an alert. */
static bool telling_has(const void *telling, enum alert_code alert, struct str job)
{
    const struct telling *t = telling;

    for (size_t i = 0; i < TELLING_KINDS; i++)
        if (tellings[i].alert == alert && telling_find(&t->lists[i], job) != NULL)
            return true;
    return false;
}

/* An alert may be left from before this process began: it is over when every look that could find
 * its reason again was made, and had room for all.  (Without, those that are over end by themselves
 * a while after the last observation.) */
static void telling_clear(struct telling *t, enum telling_of of)
{
    for (size_t i = 0; i < TELLING_KINDS; i++)
        if (tellings[i].alert == tellings[of].alert && (!t->lists[i].looked || t->lists[i].crowded))
            return;
    alerts_see_over(t->alerts, tellings[of].alert, telling_has, t);
}

static void telling_forget(struct telling_list *l)
{
    struct finding *f;

    for (struct finding **at = &l->findings; (f = *at) != NULL;) {
        if (f->found) {
            f->found = false;
            at = &f->next;
            continue;
        }
        *at = f->next;
        l->count--;
        free(f);
    }
}

/* What the list had no room for is told once, until all have room again. */
static void telling_say_more(struct telling_list *l)
{
    int64_t more = l->lines > TELLING_LINES ? l->lines - TELLING_LINES : 0;

    if (!l->crowded)
        more += l->beyond;
    if (more > 0)
        log_event(LOG_WARN, "job.overdue_more", kv_int("count", more),
                  kv_z("hint", "More jobs are late than were named. See `waybill jobs ls`."));
}

void telling_end(struct telling *t, enum telling_of of)
{
    struct telling_list *l = &t->lists[of];

    telling_forget(l);
    if (tellings[of].hint != NULL)
        telling_say_more(l);
    l->looked = true;
    l->crowded = l->beyond > 0;
    l->lines = l->beyond = 0;
    telling_clear(t, of);
}
