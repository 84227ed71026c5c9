/* plan_answer.h - the answers of a plan: those that become documents (`answer` of endpoints and
 * steps), and documents that say what they answer (`answers` of gateways).
 */
#pragma once

#include "engine/plan/plan_build.h"

/* The names of attributes by which an answer finds its document: more are not looked at. */
enum { PLAN_ATTRIBUTES_MOST = 64 };

/* The section `answer` below these settings, if there is one; it is in the list of the plan.  *ret
 * NULL: none.  Who has it may set its name id. */
bool plan_read_answer(struct builder *b, const struct settings *of, struct str name,
                      struct plan_answer **ret, struct err *err);
/* The same of a step that asks a service; `system` beside it says who answers. */
bool plan_read_step_answer(struct builder *b, const struct settings *of,
                           const struct plan_answer **ret, struct err *err);
/* The name ids of those of steps. */
bool plan_name_answers(struct builder *b, struct err *err);
/* `answers` of a gateway. */
bool plan_read_answers_of(struct builder *b, const struct config_gateway *c, struct plan_gateway *g,
                          struct err *err);
void plan_answers_free(struct plan *p);
