#include "core/schedule/schedule_build.h"

#include "base/clock.h"
#include "core/grammar.h"
#include "core/settings.h"
#include "core/units.h"

static bool schedule_build_times(const struct settings *s, struct nominal *ret, struct err *err)
{
    const struct str *texts;
    struct cron *crons;
    size_t count;

    if (!settings_texts(s, "at", &texts, &count, err))
        return false;
    crons = ARENA_ARRAY(s->arena, struct cron, count);
    for (size_t i = 0; i < count; i++)
        if (!cron_parse_at(texts[i], &crons[i], err))
            return err_context(err, "`at`");
    ret->crons = crons;
    ret->count = count;
    return true;
}

/* A point in time, in the zone of the job unless it has an offset; 0: the key is not set. */
static bool schedule_build_instant(const struct settings *s, const char *key,
                                   const struct zone *zone, int64_t *ret_us, struct err *err)
{
    struct units_instant at;
    struct str text;

    if (!settings_text(s, key, &text, err))
        return false;
    if (text.ptr == NULL)
        return true;
    if (!units_instant(text, &at, err))
        return err_context(err, "`%s`", key);
    *ret_us = CLOCK_S * (at.has_offset ? at.local_s - at.offset_s : zone_utc(zone, at.local_s));
    return true;
}

static bool schedule_build_where(const struct settings *s, struct window_maker *m,
                                 struct nominal *ret, struct err *err)
{
    const struct yaml_node *window = yaml_get(s->node, "window");
    struct str zone;

    if (!settings_text(s, "zone", &zone, err) || !zone_shelf_get(&m->zones, zone, &ret->zone, err))
        return false;
    window_holidays(m, yaml_get(s->node, "holidays"), &ret->holidays, &ret->holiday_count);
    m->zone = zone;
    bool built =
        window == NULL || yaml_is_null(window) || window_set_build(m, window, &ret->window, err);

    m->zone = (struct str){ 0 };
    return built;
}

static bool schedule_build_retry(const struct settings *s, struct retry_rule *ret, struct err *err)
{
    const struct settings retry = settings_below(s, "retry");

    return settings_duration(&retry, "first", &ret->first_us, err) &&
           settings_duration(&retry, "most", &ret->most_us, err) &&
           settings_duration(&retry, "for", &ret->for_us, err);
}

/* `suspend: never` is 0. */
static bool schedule_build_suspend(const struct settings *s, int64_t *ret, struct err *err)
{
    struct str text;

    *ret = 0;
    if (!settings_text(s, "suspend", &text, err))
        return false;
    return str_is(text, "never") || settings_int(s, "suspend", ret, err);
}

static enum schedule_catch_up schedule_build_word(struct str word)
{
    return str_is(word, "skip")  ? SCHEDULE_SKIP
           : str_is(word, "all") ? SCHEDULE_ALL
                                 : SCHEDULE_LATEST;
}

bool schedule_build(const struct yaml_node *job, struct window_maker *m, struct schedule *ret,
                    struct err *err)
{
    const struct settings s = { .node = job, .common = grammar_job, .arena = m->arena };
    struct str catch_up;

    *ret = (struct schedule){ .form = settings_has(&s, "every")  ? SCHEDULE_EVERY
                                      : settings_has(&s, "once") ? SCHEDULE_ONCE
                                                                 : SCHEDULE_AT };
    if (!schedule_build_times(&s, &ret->times, err) ||
        !settings_duration(&s, "every", &ret->every_us, err) ||
        !settings_duration(&s, "idle_most", &ret->idle_most_us, err) ||
        !settings_duration(&s, "jitter", &ret->jitter_us, err) ||
        !settings_int(&s, "runs", &ret->runs, err) ||
        !settings_text(&s, "catch_up", &catch_up, err) ||
        !settings_int(&s, "catch_up_most", &ret->catch_up_most, err) ||
        !schedule_build_retry(&s, &ret->retry, err) ||
        !schedule_build_suspend(&s, &ret->suspend, err))
        return false;
    ret->catch_up = schedule_build_word(catch_up);
    return schedule_build_where(&s, m, &ret->times, err) &&
           schedule_build_instant(&s, "once", ret->times.zone, &ret->once_us, err) &&
           schedule_build_instant(&s, "until", ret->times.zone, &ret->until_us, err);
}
