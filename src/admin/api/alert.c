/* alert.c - alerts and their notices: alerts, alert. */
#include "store/watch/alert.h"
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "core/alert_rule.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"

enum { PAGE_MOST = 1000, NOTICES_MOST = 200 };

struct shown_alert {
    struct alert alert;
    struct str id;
    const char *state;
};

static struct shown_alert *api_alert_show(struct graphql_call *call, const struct alert *a)
{
    struct shown_alert *v = ARENA_NEW(call->arena, struct shown_alert);

    *v = (struct shown_alert){ .alert = *a,
                               .id = str_of(arena_printf(call->arena, "%lld", (long long)a->num)),
                               .state = a->cleared_us == 0 ? "open" : "cleared" };
    return v;
}

static bool api_alert_sees_endpoint(struct graphql_call *call, struct str name)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    bool sees = false;

    for (size_t i = 0; i < plan->endpoint_count; i++) {
        const struct config_endpoint *c = &plan->config->endpoints[i];

        if (str_is(name, c->name) && c->system != NULL)
            sees = api_sees_system(call, RIGHT_SEE, str_of(c->system));
    }
    plan_unref(plan);
    return sees;
}

/* Of a step that asks, the system is the one that it names. */
static bool sees_unanswered(struct graphql_call *call, struct str name)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    const struct plan_answer *a = plan_answer_find(plan, name);
    bool sees = a != NULL && a->system != NULL && api_sees_system(call, RIGHT_SEE, a->system->name);

    plan_unref(plan);
    return sees || api_alert_sees_endpoint(call, name);
}

/* Alerts are about systems, endpoints, gateways, the node or the store.  A scope of named systems
 * covers alerts about these systems and about their endpoints. */
static bool sees_alert(struct graphql_call *call, const struct alert *a)
{
    if (api_sees_all(call, RIGHT_SEE))
        return true;
    switch (alert_code_of(a->code)) {
    case ALERT_QUEUE_DEPTH:
    case ALERT_QUEUE_AGE:
    case ALERT_WINDOW_TOO_SHORT:
        return api_sees_system(call, RIGHT_SEE, a->object);
    case ALERT_RECEIVER_FAILING:
    case ALERT_RECEIVER_REJECTING:
    case ALERT_STUCK:
        return api_alert_sees_endpoint(call, a->object);
    case ALERT_UNANSWERED:
        return sees_unanswered(call, a->object);
    default:
        return false;
    }
}

static bool alerts(struct graphql_call *call, struct err *err)
{
    bool cleared = false;
    int64_t first = 100;
    size_t n;

    (void)graphql_arg_bool(call, "cleared", &cleared);
    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > PAGE_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", PAGE_MOST);
    size_t most = api_sees_all(call, RIGHT_SEE) ? (size_t)first : PAGE_MOST, seen = 0;
    struct alert *all = ARENA_ARRAY(call->arena, struct alert, most);
    const void **list = ARENA_ARRAY(call->arena, const void *, (size_t)first);

    if (!alert_list(api_store(call), cleared, call->arena, all, most, &n, err))
        return false;
    for (size_t i = 0; i < n && seen < (size_t)first; i++)
        if (sees_alert(call, &all[i]))
            list[seen++] = api_alert_show(call, &all[i]);
    return graphql_set_objects(call, list, seen);
}

static bool alert_one(struct graphql_call *call, struct err *err)
{
    struct alert one;
    int64_t num;

    if (!str_to_i64(graphql_arg_text(call, "id"), &num))
        return graphql_set_null(call);
    if (!alert_get(api_store(call), num, call->arena, &one, err))
        return err->kind == ERR_NONE && graphql_set_null(call);
    return sees_alert(call, &one) ? graphql_set_object(call, api_alert_show(call, &one))
                                  : graphql_set_null(call);
}

struct shown_notice {
    struct notice notice;
    const char *kind, *state;
    int64_t next_us;
};

static bool alert_notices(struct graphql_call *call, struct err *err)
{
    const struct shown_alert *v = call->parent;
    struct notice *all = ARENA_ARRAY(call->arena, struct notice, NOTICES_MOST);
    const void **list = ARENA_ARRAY(call->arena, const void *, NOTICES_MOST);
    size_t n;

    if (!notice_list(api_store(call), v->alert.num, call->arena, all, NOTICES_MOST, &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct shown_notice *w = ARENA_NEW(call->arena, struct shown_notice);

        *w = (struct shown_notice){ .notice = all[i],
                                    .kind = notice_kinds[all[i].kind],
                                    .state = notice_states[all[i].state],
                                    .next_us = all[i].state == NOTICE_WAITS ? all[i].due_us : 0 };
        list[i] = w;
    }
    return graphql_set_objects(call, list, n);
}

const struct graphql_resolver api_alert[] = {
    { .field = "Query.alerts", .fn = alerts },
    { .field = "Query.alert", .fn = alert_one },
    GRAPHQL_MEMBER("Alert.id", struct shown_alert, id),
    GRAPHQL_MEMBER("Alert.code", struct shown_alert, alert.code),
    GRAPHQL_MEMBER("Alert.object", struct shown_alert, alert.object),
    GRAPHQL_MEMBER("Alert.message", struct shown_alert, alert.message),
    GRAPHQL_MEMBER("Alert.state", struct shown_alert, state),
    GRAPHQL_MEMBER("Alert.count", struct shown_alert, alert.count),
    GRAPHQL_MEMBER("Alert.raised", struct shown_alert, alert.raised_us),
    GRAPHQL_MEMBER("Alert.last", struct shown_alert, alert.last_us),
    API_NUMBER_AT("Alert.cleared", struct shown_alert, alert.cleared_us),
    API_TEXT_AT("Alert.ended", struct shown_alert, alert.ended),
    GRAPHQL_MEMBER("Alert.waiting", struct shown_alert, alert.waiting),
    GRAPHQL_MEMBER("Alert.givenUp", struct shown_alert, alert.given_up),
    { .field = "Alert.notices", .fn = alert_notices },
    GRAPHQL_MEMBER("AlertNotice.kind", struct shown_notice, kind),
    GRAPHQL_MEMBER("AlertNotice.to", struct shown_notice, notice.target),
    GRAPHQL_MEMBER("AlertNotice.state", struct shown_notice, state),
    GRAPHQL_MEMBER("AlertNotice.made", struct shown_notice, notice.made_us),
    GRAPHQL_MEMBER("AlertNotice.attempts", struct shown_notice, notice.attempts),
    API_NUMBER_AT("AlertNotice.sent", struct shown_notice, notice.sent_us),
    API_NUMBER_AT("AlertNotice.next", struct shown_notice, next_us),
    API_TEXT_AT("AlertNotice.error", struct shown_notice, notice.error),
};
const size_t api_alert_count = sizeof api_alert / sizeof api_alert[0];
