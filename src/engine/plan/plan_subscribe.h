/* plan_subscribe.h - subscriptions of a plan, and the steps that serve them. */
#pragma once

#include "engine/plan/plan_build.h"

/* Before the steps. */
void plan_subscriptions(struct builder *b);
bool plan_subscribe_step(struct builder *b, const struct yaml_node *map, struct plan_step *step,
                         struct err *err);
