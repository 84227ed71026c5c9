#include "job/check_alert.h"

#include <jansson.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/json.h"
#include "core/config.h"
#include "engine/watch/alerts.h"
#include "store/job/job.h"

enum { CHECK_PORTION = 200, CHECK_PAGE = 32 << 20 };

/* ---- the state ---- */

bool check_state_read(struct str text, struct check_state *ret, struct err *err)
{
    struct check_state s = { 0 };

    if (text.len > 0) {
        json_t *root = json_loadb(text.ptr, text.len, 0, NULL);
        const json_t *found = json_object_get(root, "found");
        const char *message = json_string_value(json_object_get(root, "message"));
        bool ok = json_is_integer(found) && message != NULL;

        if (ok) {
            s.found = json_integer_value(found);
            (void)snprintf(s.message, sizeof s.message, "%.*s",
                           STR_ARG(str_first(str_of(message), sizeof s.message - 1)));
        }
        json_decref(root);
        if (!ok)
            return err_set(err, ERR_PERMANENT, 0, "it is not the state of a job of kind check");
    }
    *ret = s;
    return true;
}

void check_state_write(size_t found, const char *message, struct str checks, struct buf *to)
{
    struct json_out j = { .to = to };

    json_open(&j, '{');
    json_key(&j, "found");
    json_int(&j, (int64_t)found);
    json_key(&j, "message");
    json_z(&j, message);
    json_key(&j, "checks");
    json_raw(&j, checks);
    json_close(&j, '}');
}

/* ---- the alert ---- */

struct check_alert_name {
    struct check_alert_name *next;
    struct str name;
};

static bool check_alert_has(const void *names, enum alert_code code, struct str object)
{
    const struct check_alert_name *n = *(struct check_alert_name *const *)names;

    (void)code;
    while (n != NULL && !str_eq(n->name, object))
        n = n->next;
    return n != NULL;
}

/* A state that cannot be read suspends its job, and that is told. */
static void check_alert_one(const struct job_with_state *job, struct alerts *alerts)
{
    struct check_state s = { 0 };
    struct err err = { 0 };

    if (!check_state_read(job->state, &s, &err))
        s = (struct check_state){ 0 };
    alerts_see_if(alerts, ALERT_CHECK_FOUND, job->record.name, s.found > 0, s.message);
}

bool check_alert_look(struct store *s, struct alerts *alerts, struct arena *a, struct err *err)
{
    AUTO(arena_done) struct arena page = ARENA_INIT(CHECK_PAGE);
    struct check_alert_name *names = NULL;
    int64_t above = 0;

    for (size_t n = CHECK_PORTION; n == CHECK_PORTION; arena_reset(&page)) {
        struct job_with_state *jobs = ARENA_ARRAY(&page, struct job_with_state, CHECK_PORTION);

        if (!job_list_kind(s, STR(CONFIG_KIND_CHECK), above, CHECK_PORTION, &page, jobs, &n, err))
            return false;
        for (size_t i = 0; i < n; i++) {
            struct check_alert_name *one = ARENA_NEW(a, struct check_alert_name);

            check_alert_one(&jobs[i], alerts);
            *one = (struct check_alert_name){ .next = names,
                                              .name = arena_copy(a, jobs[i].record.name) };
            names = one;
        }
        above = n > 0 ? jobs[n - 1].record.num : above;
    }
    alerts_see_over(alerts, ALERT_CHECK_FOUND, check_alert_has, &names);
    return true;
}
