/* plan_cage.h - steps that run in processes of their own (cage/cage.h), as parts of a plan. */
#pragma once

#include "core/settings.h"
#include "engine/plan/plan_build.h"

/* The cage of a step, from its options.  When a configuration is being checked the step is made
 * once, in a process, so that a mistake in a script is a problem of the configuration. */
bool plan_build_cage(struct builder *b, const struct settings *s, struct plan_step *step,
                     struct err *err);
void plan_free_cage(const struct plan_step *step);
