/* series.c - time series, for charts: series. */
#include "engine/tally/series.h"
#include "admin/api/parts.h"
#include "base/clock.h"
#include "engine/engine.h"

struct shown_series {
    const char *name;
    int64_t from_us, step;
    int64_t *values;
    size_t count;
};

/* Reads the argument `names`, as bits; all series when it is missing. */
static unsigned api_series_read_names(const struct graphql_call *call)
{
    const struct graphql_value *names = graphql_arg(call, "names");
    unsigned wanted = 0;

    for (size_t i = 0; names->kind == GRAPHQL_LIST && i < names->count; i++)
        wanted |= 1u << names->items[i].number;
    return wanted != 0 ? wanted : (1u << SERIES_NAMES) - 1;
}

static const void *api_series_show(struct graphql_call *call, enum series_name name, int step,
                                   int64_t since)
{
    struct shown_series *v = ARENA_NEW(call->arena, struct shown_series);

    v->name = series_words[name];
    v->step = step;
    v->values = ARENA_ARRAY(call->arena, int64_t, SERIES_COARSE);
    v->count = series_read(engine_series(api_engine(call)), name, step, since, clock_wall_us(),
                           v->values, &v->from_us);
    return v;
}

/* The numbers are over all systems, so they take the right `see` for all systems. */
static bool series(struct graphql_call *call, struct err *err)
{
    const void **list = ARENA_ARRAY(call->arena, const void *, SERIES_NAMES);
    bool all = rights_everywhere(&api_principal(call)->rights, RIGHT_SEE);
    int64_t step = SERIES_STEP_FINE, since = 0;
    unsigned wanted = all ? api_series_read_names(call) : 0;
    size_t n = 0;

    (void)graphql_arg_int(call, "step", &step);
    (void)graphql_arg_int(call, "since", &since);
    if (step != SERIES_STEP_FINE && step != SERIES_STEP_COARSE)
        return err_set(err, ERR_PERMANENT, 0, "step is %d or %d", SERIES_STEP_FINE,
                       SERIES_STEP_COARSE);
    for (int i = 0; i < SERIES_NAMES; i++)
        if ((wanted >> i & 1) != 0)
            list[n++] =
                api_series_show(call, (enum series_name)i, (int)step, since > 0 ? since : 0);
    return graphql_set_objects(call, list, n);
}

static bool value_at(struct graphql_call *call, const void *list, size_t index, struct err *err)
{
    int64_t v = ((const int64_t *)list)[index];

    (void)err;
    return v == SERIES_NONE ? graphql_set_null(call) : graphql_set_int(call, v);
}

static bool series_values(struct graphql_call *call, struct err *err)
{
    const struct shown_series *v = call->parent;

    (void)err;
    return graphql_set_list(call, v->values, v->count, value_at);
}

const struct graphql_resolver api_series[] = {
    { .field = "Query.series", .fn = series },
    GRAPHQL_MEMBER("Series.name", struct shown_series, name),
    GRAPHQL_MEMBER("Series.from", struct shown_series, from_us),
    GRAPHQL_MEMBER("Series.step", struct shown_series, step),
    { .field = "Series.values", .fn = series_values },
};
const size_t api_series_count = sizeof api_series / sizeof api_series[0];
