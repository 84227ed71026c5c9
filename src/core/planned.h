/* planned.h - what a configuration may say and this build does not run yet.
 *
 * A planned key or kind is checked as strictly as any other, kept, and named once in a warning, so
 * that a configuration can be written ahead of the code.  When it is implemented, its row is
 * removed from planned.c, and the keys of a kind move into the file of its connector.
 */
#pragma once

#include "core/option.h"

struct planned_kind {
    enum option_role role;
    struct option_kind kind; /* name NULL ends the table */
};

extern const struct planned_kind planned_kinds[];
extern const struct option planned_sections[]; /* a group of grammar_sections */
