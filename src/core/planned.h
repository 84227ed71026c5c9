/* planned.h - what a configuration may say and this build does not run yet.
 *
 * It is checked as closely as everything else, kept, and named once in a warning, so that a
 * configuration can be written for what is to come.  Whoever builds one of these takes its row
 * out of planned.c; the keys of a kind move into the file of its connector.
 */
#pragma once

#include "core/option.h"

struct planned_kind {
    enum option_role role;
    struct option_kind kind; /* name NULL ends the table */
};

extern const struct planned_kind planned_kinds[];
extern const struct option planned_sections[];   /* a group of grammar_sections */
extern const struct option planned_job_common[]; /* keys of every job */
extern const char *const planned_sources[];      /* words of expressions; NULL ends */
