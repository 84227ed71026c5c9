/* route_when.h - how `when` of a route is read.
 *
 * receiver, type and sender are fields; everything beside them, and everything in
 * `attributes`, is a condition on an attribute.  A field or attribute that is left out,
 * "*", or a list with "*" in it matches anything; other values are exact.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "core/facts.h"
#include "core/yaml.h"

enum { ROUTE_FIELDS = 3 };

/* In the order of precedence: receiver, type, sender. */
extern const char *const route_fields[ROUTE_FIELDS];

/* One of route_fields, or `attributes`: not a name of an attribute. */
bool route_is_field(struct str name);

bool route_when_is_any(const struct yaml_node *value); /* matches anything; NULL does */

/* Position of a walk over the conditions of one `when`; starts zeroed. */
struct route_when_walk {
    const struct yaml_node *at;
    bool inner;
};

/* The next condition on an attribute that does not match everything; its key is the name.  NULL at
 * the end.  `when` may be NULL. */
const struct yaml_node *route_when_next(const struct yaml_node *when, struct route_when_walk *walk);
size_t route_when_count(const struct yaml_node *when);

/* Iterates over the values of a field or attribute: one, or those of its list. */
size_t route_value_count(const struct yaml_node *value);
const struct yaml_node *route_value_first(const struct yaml_node *value);
const struct yaml_node *route_value_next(const struct yaml_node *value, const struct yaml_node *at);

/* A document with these facts fits.  `when` may be NULL: any does. */
bool route_when_fits(const struct yaml_node *when, const struct facts *f);
