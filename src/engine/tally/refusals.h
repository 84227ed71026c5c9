/* refusals.h - who was refused: failed logins, credentials that do not work, rights that are
 * missing.
 *
 * They belong in the audit log, and anybody can cause any number of them.  So they are counted in
 * memory, one entry per action, actor, address and object: the first of an entry becomes a line of
 * the log within a second, those that follow within the minute become one line with their number.
 * When the table is full the rest is counted together.  A flood costs at most about a line a
 * second.
 *
 * Texts that a stranger chose (names of users that do not exist, unknown keys) are not kept: people
 * type passwords into the wrong field.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct refusals;
struct store;

struct refusal {
    const char *action; /* loginRefused, credentialRefused, keyRefused, forbidden */
    struct str actor;   /* who it would have been; empty: unknown */
    struct str kind;    /* as in audit.h; empty: not authenticated */
    struct str address;
    struct str object; /* what was asked for */
    const char *why;
};

struct refusals *refusals_new(void);
void refusals_free(struct refusals *r); /* NULL is fine */

void refusals_note(struct refusals *r, const struct refusal *one);

/* Writes what is due; with `all` everything, before the node ends.  Blocks on the store; what could
 * not be written is kept. */
bool refusals_write(struct refusals *r, struct store *s, bool all, struct err *err);
