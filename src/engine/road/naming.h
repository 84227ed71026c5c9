/* naming.h - names of systems and types as the store has them: by number. */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "store/kernel/names.h"

struct arena;
struct facts;
struct plan_route;
struct road;
struct settle_op;

/* 0: the store has no such name. */
int64_t naming_word(struct road *r, enum name_kind kind, struct str name);
/* What was extracted, with the numbers of its names, into has_facts and what follows it.  route:
 * NULL if it is not known. */
void naming_fill(struct road *r, const struct facts *facts, const struct plan_route *route,
                 struct arena *a, struct settle_op *ret);
