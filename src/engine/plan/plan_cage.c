#include "engine/plan/plan_cage.h"

#include <unistd.h>

#include "base/auto.h"
#include "cage/cage.h"

enum { RECIPE_MOST = 64 << 20 };

static int64_t cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? n : 1;
}

/* The recipe has secrets in it: it lives for the call only, and in the process of the step. */
bool plan_build_cage(struct builder *b, const struct settings *s, struct plan_step *step,
                     struct err *err)
{
    AUTO(buf_done) struct buf options = BUF_INIT(RECIPE_MOST);
    struct cage_limits limits;

    if (!cage_limits_read(s, &limits, err) || !settings_json(s, &options, err))
        return false;
    struct cage_recipe recipe = { .service = step->name, .options = buf_view(&options) };

    if (b->problems != NULL && !cage_check(&recipe, err)) {
        settings_name_file(s, err);
        return false;
    }
    if (limits.concurrency == 0)
        limits.concurrency = cores();
    step->output_most = limits.output;
    if (step->service->streams) {
        limits.share = CAGE_SHARE;
        if (limits.output == 0) /* the walk has the limit: it depends on the gateway */
            limits.output = INT64_MAX;
    }
    step->concurrency = limits.concurrency;
    step->time_us = limits.time_us;
    step->cage = cage_new(&recipe, &limits);
    return true;
}

void plan_free_cage(const struct plan_step *step)
{
    cage_free(step->cage);
}
