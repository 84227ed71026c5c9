/* schema_rules.h - the rules of a subschema, made from its keywords. */
#pragma once

#include "service/schema/schema.h"

/* Appends the rules of a subschema whose keywords have the right shape; all names are noted. */
bool schema_rules_make(struct schema *s, uint32_t sub, struct err *err);
