/* check_rule.h - what a job of kind `check` looks for, as the configuration says it.
 *
 *     database: orders
 *     checks:
 *       - { duplicates: customer, columns: [email] }
 *       - { orphans: order_line, columns: [order_id], in: orders, keys: [id] }
 *       - { older: outbox, column: created_at, than: 2h, empty: [sent_at], most: 10 }
 *       - { counts: customer, with: mirror, apart: 5 }
 *
 * Ownership: everything is on the arena of the settings.
 * Threads: reading ${file:} and time zones may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "core/option.h"
#include "core/settings.h"
#include "table/database.h"
#include "table/sought.h"

enum {
    CHECK_RULES_MOST = 50,
    CHECK_BASES_MOST = CHECK_RULES_MOST + 1,
    CHECK_VALUES_MOST = SOUGHT_COLUMNS_MOST
};

struct zone;

/* A database that is looked at. */
struct check_base {
    const struct database_type *type;
    struct database_address address;
};

struct check_rule {
    enum sought_kind kind;     /* SOUGHT_ROWS: the numbers of rows of two tables are compared */
    struct str title;          /* "orphans: order_line (order_id) in orders" */
    struct str table, in;      /* in: of orphans and of counts, the other one */
    size_t base, other;        /* in spec->bases; other: where `in` is */
    const struct str *columns; /* of older: one */
    const struct str *keys;    /* of orphans; none: the primary key */
    const struct str *empty;   /* only rows that have NULL in these */
    const struct str *names, *values; /* ... and these values in those */
    size_t column_count, key_count, empty_count, value_count;
    int64_t most;    /* with more it has found something; of counts: how far they may be apart */
    int64_t than_us; /* older */
    const struct zone *zone; /* older: of a column without one */
};

struct check_spec {
    struct check_base bases[CHECK_BASES_MOST];
    size_t base_count;
    struct check_rule *rules;
    size_t rule_count;
    int64_t examples; /* shown of each finding */
};

extern const struct option check_rule_options[]; /* of the kind */

/* What tables of keys cannot express (struct option_kind). */
void check_rule_check(const struct yaml_node *map, struct problem_list *problems);

/* ERR_CONFIG, or the error of a secret: it cannot run here. */
bool check_rule_read(const struct settings *s, struct check_spec *ret, struct err *err);
