/* zone_inside.h - what a zone is made of, for zone.c and zone_file.c only. */
#pragma once

#include "core/zone.h"

struct zone_change {
    int64_t at_s;
    int32_t offset_s; /* from then on */
};

struct zone {
    int32_t first_offset_s; /* before all changes */
    size_t count;
    const struct zone_change *changes;
};

/* Room for the changes of a zone while it is made. */
struct zone_draft {
    struct zone_change *changes;
    size_t count, room;
    int32_t first_offset_s;
    int64_t last_s; /* of the last one, also when it was left out */
};

/* One before the last is an error; one at the same time takes its place; one that changes
 * nothing is left out. */
bool zone_draft_add(struct zone_draft *d, int64_t at_s, int64_t offset_s, struct err *err);

/* What the rule at the end of a file, such as CET-1CEST,M3.5.0,M10.5.0/3, says about the time
 * after the last change, through ZONE_YEAR_MOST.  An empty rule says nothing. */
bool zone_rule_apply(struct str rule, struct zone_draft *d, struct err *err);

/* How many changes a rule can make. */
enum { ZONE_RULE_CHANGES = 2 * (ZONE_YEAR_MOST - 1800) };
