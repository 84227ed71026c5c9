/* link_plan.h - what a link needs in its databases, as statements that a person sees before they
 * run.
 *
 * A plan of some tables of a link: how the tables fit, and the DDL that captures changes at the
 * source and keeps marks at the destination.  What is installed already is not in it.  Running it
 * makes the same plan again and does nothing if that is another one than was seen.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "link/link_spec.h"

struct link_planned_group;

struct link_planned_statement {
    struct str database; /* as the configuration calls it */
    struct str text;
    const char *purpose;
    struct link_planned_group *group; /* what it is a part of */
};

struct link_planned_table {
    struct str table;
    bool fits, installed; /* at the source */
    struct str problems;  /* why it does not fit, or cannot be read; lines */
    struct str columns;   /* those that travel, with their types: "id int, name text" */
};

struct link_planned {
    struct link_planned_table *tables;
    size_t table_count;
    struct link_planned_statement *statements;
    size_t count;
    struct sha256 digest; /* of all statements, in order */
};

/* `removal`: what takes everything away again; marks of these tables included.  What cannot be
 * reached or does not fit is in `problems` of its table; ERR_LIMIT: too many statements. */
bool link_plan_make(const struct link_spec *specs, size_t count, bool removal, struct arena *a,
                    struct link_planned *ret, struct err *err);

/* Runs the statements of a plan, in order.  ERR_PERMANENT: a table does not fit, or the plan is not
 * the one that was `seen`; others: a statement failed (*ret_done says how many did not). */
bool link_plan_run(const struct link_spec *specs, size_t count, bool removal,
                   const struct sha256 *seen, struct arena *a, size_t *ret_done, struct err *err);
