/* plan_call.h - steps that ask a service: their list, and `parts`, by which what it answers is cut
 * by a step `split`.
 */
#pragma once

#include "engine/plan/plan_build.h"

/* One more in the list of the plan. */
void plan_add_asking(struct builder *b, const struct plan_step *step);
/* Their name ids. */
bool plan_name_asking(struct builder *b, struct err *err);

/* The text of `parts` of a step as written; ptr NULL: it has none. */
struct str plan_call_parts(const struct yaml_node *step);
/* Builds the step that follows `call`, which gives up the expressions for its parts. */
bool plan_call_split(struct builder *b, const struct yaml_node *node, struct plan_step *call,
                     struct plan_step *ret, struct err *err);
