/* plan_batch.h - batches of a plan: its part of plan_build(). */
#pragma once

#include "engine/plan/plan_build.h"

/* Call after systems and endpoints, before the routes. */
bool plan_batches(struct builder *b, struct err *err);
bool plan_join_step(struct builder *b, const struct yaml_node *map, const struct option_kind *kind,
                    struct plan_step *step, struct err *err);
