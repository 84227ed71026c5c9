#include "engine/plan/plan_keyed.h"

bool plan_read_retry(const struct settings *s, struct retry_rule *ret, struct err *err)
{
    struct settings retry = settings_below(s, "retry");

    return settings_duration(&retry, "first", &ret->first_us, err) &&
           settings_duration(&retry, "most", &ret->most_us, err) &&
           settings_duration(&retry, "for", &ret->for_us, err);
}

static bool build_record(const struct settings *s, const struct yaml_node *map,
                         struct plan_step *step, struct err *err)
{
    const struct yaml_node *key = yaml_get(map, "key");

    if (key == NULL)
        return err_set(err, ERR_CONFIG, 0, "`key` is missing: it finds the key of the record");
    return settings_text(s, "set", &step->set, err) && plan_compile_key(key, &step->extractor, err);
}

bool plan_build_keyed(const struct settings *s, const struct yaml_node *map, struct plan_step *step,
                      struct err *err)
{
    if (step->service->keyed && !build_record(s, map, step, err))
        return false;
    return option_find(s->own, STR("retry")) == NULL || plan_read_retry(s, &step->retry, err);
}
