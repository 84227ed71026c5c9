/* retain_days.h - how long ended documents are kept, by the rules in force.
 *
 * Purging them afterwards is the work of retention/retain.h.
 *
 * Threads: any; retain_days_for() the writers, in an open transaction.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/state.h"

struct store;
struct writer;

struct retain_type {
    int64_t type; /* name id */
    int64_t days;
};

/* How long ended documents are kept: by their type, else by their state. */
struct retain_rules {
    int64_t days[DOCUMENT_STATES];
    const struct retain_type *types; /* sorted by type */
    size_t type_count;
    int64_t other_days; /* of types that are not listed; -1: by state */
};

/* Instead of a number of days: by the rules in force. */
enum { RETAIN_BY_RULE = -1 };

/* Sets the rules in force; copies them.  Before the first call everything is kept RETAIN_DAYS. */
void retain_use(struct store *s, const struct retain_rules *rules);
int64_t retain_days(struct store *s, int64_t type, enum document_state state);
/* The same for a live document, in an open transaction. */
bool retain_days_for(struct writer *w, int64_t num, enum document_state state, int64_t *ret,
                     struct err *err);
/* The distinct numbers of days in the rules, up to `most`. */
size_t retain_days_all(struct store *s, int64_t *ret, size_t most);

/* The rules that are in force. */
struct retain_rules_held;
struct retain_rules_held *retain_rules_new(void);
void retain_rules_free(struct retain_rules_held *h);
