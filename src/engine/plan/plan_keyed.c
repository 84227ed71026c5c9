#include "engine/plan/plan_keyed.h"

#include "core/service_call.h"

/* Compiled as attributes, so that a document without them is no failure. */
bool plan_compile_attributes(struct yaml_node *first, struct extractor **ret, struct err *err)
{
    struct yaml_node label = { .kind = YAML_SCALAR, .text = STR("attributes") };
    struct yaml_node map = { .kind = YAML_MAP, .key = &label, .first = first };
    struct yaml_node root = { .kind = YAML_MAP, .first = &map };

    return extractor_compile(&root, false, ret, err);
}

bool plan_compile_key(const struct yaml_node *by, struct extractor **ret, struct err *err)
{
    struct yaml_node word = { .kind = YAML_SCALAR, .text = PLAN_KEY }, key = *by;

    key.key = &word;
    key.next = NULL;
    return plan_compile_attributes(&key, ret, err);
}

bool plan_compile_values(const struct yaml_node *values, struct extractor **ret, struct err *err)
{
    return values == NULL || values->first == NULL ||
           plan_compile_attributes(values->first, ret, err);
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
    struct breaker_rule none;

    return !step->service->keyed || (build_record(s, map, step, err) &&
                                     (option_find(s->own, STR("retry")) == NULL ||
                                      service_call_read_retry(s, &step->retry, &none, err)));
}
