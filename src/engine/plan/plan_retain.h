/* plan_retain.h - retention rules of a plan: its part of plan_build(). */
#pragma once

#include "engine/plan/plan.h"

/* Call when the name ids of types are known. */
bool plan_build_retention(struct plan *p, struct store *store, struct err *err);
