#include "admin/view/trial_view.h"

#include "admin/view/document_view.h"
#include "admin/view/payload_diff.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/config.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/rehearse/trial.h"
#include "engine/upkeep/live.h"
#include "store/govern/version.h"

enum { TIME_MOST_US = 10 * CLOCK_S, WAIT_US = 2 * CLOCK_S /* for others who try a step */ };

/* ---- what is shown; the trial ends before the answer is written ---- */

static struct trial_result_view show_result(struct arena *a, struct str bytes,
                                            const struct facts *facts)
{
    struct str first = str_first(bytes, TRIAL_VIEW_TEXT);
    struct trial_result_view r = { .text = arena_copy(a, first),
                                   .size = (int64_t)bytes.len,
                                   .truncated = first.len < bytes.len,
                                   .is_text = payload_is_text(first) };

    if (facts != NULL)
        r.facts = facts_copy(a, facts);
    return r;
}

static void show_trial(struct arena *a, const struct trial *t, struct trial_view *ret)
{
    static const char *const ends[] = { [TRIAL_DEAD] = "dead",
                                        [TRIAL_BYTES] = "bytes",
                                        [TRIAL_NONE] = "none",
                                        [TRIAL_PARTS] = "parts" };

    ret->end = str_of(ends[t->end]);
    ret->duration = t->took_us;
    ret->memory = t->memory;
    if (t->end == TRIAL_DEAD) {
        ret->code = str_of(dead_codes[t->code]);
        ret->message = arena_copy(a, t->message);
    }
    if (t->end == TRIAL_BYTES)
        ret->results[ret->shown++] = show_result(a, t->bytes, NULL);
    for (size_t i = 0; t->end == TRIAL_PARTS && i < t->caught.count && i < TRIAL_VIEW_RESULTS; i++)
        ret->results[ret->shown++] =
            show_result(a, caught_bytes(&t->caught, i), &t->caught.list[i].facts);
    ret->count = t->end == TRIAL_PARTS ? (int64_t)t->caught.count : (int64_t)ret->shown;
    for (size_t i = 0; i < t->note_count; i++)
        ret->notes[ret->note_count++] = arena_copy(a, t->notes[i]);
}

/* ---- running it ---- */

/* NULL: with problems, or with err set. */
static struct plan *plan_of_step(struct engine *e, struct str step, struct arena *a,
                                 struct config_report *report, struct err *err)
{
    struct live_change change = { .step = step, .force = true };
    struct store *s = engine_store(e);
    struct version v;
    int64_t newest;
    struct plan *plan = NULL;

    if (!version_newest(s, &newest, err) || !version_get(s, newest, a, &v, err))
        return NULL;
    change.text = v.body;
    return live_propose(engine_live(e), &change, report, &plan, err) ? plan : NULL;
}

static bool may_try(const struct plan_route *route, bool sees_records, struct err *err)
{
    const struct plan_step *s = route->steps;

    if (route->broken != NULL)
        return err_set(err, ERR_CONFIG, 0, "%.190s", route->broken);
    if (s->kind == STEP_SERVICE && s->service != NULL && s->service->keyed && !sees_records)
        return err_set(err, ERR_PERMANENT, 0,
                       "this step reads records, which belong to no system: to try it takes the "
                       "right `payload` for all systems");
    return s->time_us <= TIME_MOST_US ||
           err_set(err, ERR_LIMIT, 0,
                   "a step that is tried here has at most %d s: see its `limits.time`",
                   (int)(TIME_MOST_US / CLOCK_S));
}

static bool run_trial(struct engine *e, struct plan *plan, const struct trial_document *d,
                      struct arena *a, struct trial_view *ret, struct err *err)
{
    const struct plan_route *route = &plan->routes[0];
    struct trial t;
    bool ok = trial_step_alone(engine_road(e), plan, &route->steps[0], d, clock_mono_us() + WAIT_US,
                               &t, err);

    if (ok)
        show_trial(a, &t, ret);
    trial_done(&t);
    return ok;
}

bool trial_view_make(struct engine *e, const struct trial_view_order *order, struct arena *a,
                     struct problem_list *problems, struct trial_view *ret, struct err *err)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    const struct document_view *v = order->document;
    const struct trial_document d = { .bytes = order->bytes,
                                      .name = v->doc.name,
                                      .ctype = v->doc.ctype,
                                      .head = v->doc.head,
                                      .gateway = v->doc.gateway,
                                      .facts = v->facts,
                                      .has_facts = true,
                                      .id = v->doc.source.id,
                                      .received_us = v->doc.received_us };
    struct plan *plan = plan_of_step(e, order->step, a, &report, err);
    bool ok = plan != NULL && may_try(&plan->routes[0], order->sees_records, err) &&
              run_trial(e, plan, &d, a, ret, err);

    plan_unref(plan);
    for (size_t i = 0; i < report.problems.count; i++)
        problem_add(problems, report.problems.items[i].place, report.problems.items[i].hint, "%s",
                    report.problems.items[i].message);
    return ok;
}
