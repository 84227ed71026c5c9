/* series.c - time series, for charts: series. */
#include "admin/api/parts.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "engine/tally/charts.h"

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

struct all_series {
    int64_t (*values)[SERIES_NAMES];
    size_t count;
    int64_t step, from_us;
};

static const void *api_series_show(struct graphql_call *call, enum series_name name,
                                   const struct all_series *all)
{
    struct shown_series *v = ARENA_NEW(call->arena, struct shown_series);

    v->name = series_words[name];
    v->step = all->step;
    v->from_us = all->from_us;
    v->values = ARENA_ARRAY(call->arena, int64_t, all->count);
    v->count = all->count;
    for (size_t i = 0; i < all->count; i++)
        v->values[i] = all->values[i][name];
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
    struct all_series of = { .step = step };

    of.values = arena_alloc(call->arena, SERIES_COARSE * sizeof *of.values);
    if (wanted != 0 &&
        !charts_series(engine_charts(api_engine(call)), (int)step, since > 0 ? since : 0,
                       clock_wall_us(), of.values, &of.count, &of.from_us, err))
        return false;
    for (int i = 0; i < SERIES_NAMES; i++)
        if ((wanted >> i & 1) != 0)
            list[n++] = api_series_show(call, (enum series_name)i, &of);
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
