/* zone_data.h - the representation of a zone, for the zone*.c files only. */
#pragma once

#include "core/zone.h"

struct zone_change {
    int64_t at_s;
    int32_t offset_s; /* from at_s on */
};

struct zone {
    int32_t first_offset_s; /* before all changes */
    size_t count;
    const struct zone_change *changes;
};

/* The changes of a zone while it is built. */
struct zone_draft {
    struct zone_change *changes;
    size_t count, room;
    int32_t first_offset_s;
    int64_t last_s; /* time of the last change, also if it was left out */
};

/* Adds a change.  A change before the last one is an error, one at the same time replaces it, and
 * one that does not change the offset is left out. */
bool zone_draft_add(struct zone_draft *d, int64_t at_s, int64_t offset_s, struct err *err);

/* Adds the changes that the rule at the end of a file, such as CET-1CEST,M3.5.0,M10.5.0/3, makes
 * after the last change, through ZONE_YEAR_MOST.  An empty rule makes none. */
bool zone_rule_apply(struct str rule, struct zone_draft *d, struct err *err);

/* The most changes that a rule makes. */
enum { ZONE_RULE_CHANGES = 2 * (ZONE_YEAR_MOST - 1800) };
