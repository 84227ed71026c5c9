/* plan_keyed.h - steps that read or keep a record (core/service.h), as parts of a plan. */
#pragma once

#include "core/settings.h"
#include "engine/plan/plan_build.h"

/* Expressions, each an attribute by its key. */
bool plan_compile_attributes(struct yaml_node *first, struct extractor **ret, struct err *err);
/* Expressions that find one value: PLAN_KEY is its attribute. */
bool plan_compile_key(const struct yaml_node *by, struct extractor **ret, struct err *err);
/* The key `values` of a step that asks; NULL: it has none. */
bool plan_compile_values(const struct yaml_node *values, struct extractor **ret, struct err *err);
/* The record of a step: its set, and how its key is found; and when a step that fails for now is
 * tried again.  Nothing for other steps. */
bool plan_build_keyed(const struct settings *s, const struct yaml_node *map, struct plan_step *step,
                      struct err *err);
