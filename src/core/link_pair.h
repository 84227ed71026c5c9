/* link_pair.h - a table that goes both ways with one link at each of two locations: whether what
 * both say of it fits together.
 *
 * Each configuration has one of the links, and names the other one with `back`.  So the location of
 * a link asks the other one, and this is how that one answers.
 *
 * Threads: any.
 */
#pragma once

#include "base/str.h"
#include "core/yaml.h"

/* What another location says of its link; all texts come from it. */
struct link_pair {
    const struct yaml_node *root;            /* of our configuration */
    struct str peer;                         /* who asks */
    struct str database;                     /* which of ours its link is about ... */
    bool database_is_source;                 /* ... and it is the source of that link */
    struct str link, table;                  /* its link, and the table in it */
    const char *back_text, *back_table_text; /* ours, as it calls it */
    struct str rule;                         /* `conflict` of its link */
};

/* Why they do not fit: a clause whose subject is our link; NULL: they do. */
const char *link_pair_differs(const struct link_pair *p);
