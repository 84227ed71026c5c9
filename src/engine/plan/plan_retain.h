/* plan_retain.h - retention rules of a plan: its part of plan_build(). */
#pragma once

#include "engine/plan/plan.h"

struct builder;

/* Call when the name ids of types are known. */
bool plan_build_retention(struct builder *b, struct err *err);
