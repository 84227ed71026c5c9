/* plan_retain.h - how long documents are kept, as a configuration says: its part of plan_build().
 */
#pragma once

#include "engine/plan/plan.h"

/* When the words of types are known. */
bool plan_build_retention(struct plan *p, struct store *store, struct err *err);
