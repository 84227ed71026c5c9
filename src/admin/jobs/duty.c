/* duty.c - what this node does by itself, beside the jobs (engine/duties.h). */
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "engine/duties.h"

/* What GraphQL reads of a duty. */
struct shown_duty {
    struct duty_shown duty;
    struct str kind, error;
};

static bool duties(struct graphql_call *call, struct err *err)
{
    struct duty_shown *list;
    size_t count = 0;

    if (!api_sees_all(call, RIGHT_SEE))
        return graphql_set_structs(call, NULL, 0, sizeof(struct shown_duty));
    if (!duties_list(api_engine(call), call->arena, &list, &count, err))
        return false;
    struct shown_duty *shown = ARENA_ARRAY(call->arena, struct shown_duty, count + 1);

    for (size_t i = 0; i < count; i++)
        shown[i] =
            (struct shown_duty){ .duty = list[i],
                                 .kind = str_of(list[i].kind),
                                 .error = arena_copy(call->arena, str_of(list[i].count.error)) };
    return graphql_set_structs(call, shown, count, sizeof *shown);
}

static bool duty_number(struct graphql_call *call, int64_t n)
{
    const struct shown_duty *v = call->parent;

    return v->duty.counted ? graphql_set_int(call, n) : graphql_set_null(call);
}

static bool duty_took(struct graphql_call *call, struct err *err)
{
    (void)err;
    return duty_number(call, ((const struct shown_duty *)call->parent)->duty.count.took_us);
}

static bool duty_runs(struct graphql_call *call, struct err *err)
{
    (void)err;
    return duty_number(call, ((const struct shown_duty *)call->parent)->duty.count.runs);
}

static bool duty_failures(struct graphql_call *call, struct err *err)
{
    (void)err;
    return duty_number(call, ((const struct shown_duty *)call->parent)->duty.count.failures);
}

const struct graphql_resolver api_duty[] = {
    { .field = "Query.duties", .fn = duties },
    GRAPHQL_MEMBER("Duty.kind", struct shown_duty, kind),
    GRAPHQL_MEMBER("Duty.name", struct shown_duty, duty.name),
    API_NUMBER_AT("Duty.every", struct shown_duty, duty.every_us),
    API_NUMBER_AT("Duty.last", struct shown_duty, duty.count.last_us),
    { .field = "Duty.took", .fn = duty_took },
    { .field = "Duty.runs", .fn = duty_runs },
    { .field = "Duty.failures", .fn = duty_failures },
    API_TEXT_AT("Duty.error", struct shown_duty, error),
    API_NUMBER_AT("Duty.next", struct shown_duty, duty.next_us),
};
const size_t api_duty_count = sizeof api_duty / sizeof api_duty[0];
