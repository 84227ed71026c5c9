/* removal.h - what a new configuration takes away, and what that leaves behind.
 *
 * Each gateway, endpoint, system, type and route of the configuration in force that the new one
 * does not have is a *loss*.  A loss that leaves something behind is to be confirmed: a gateway
 * that received documents in the last week or whose documents are not routed yet, an endpoint or a
 * system that deliveries wait for, a system with a hold.  The confirmation is a digest of these
 * names, so that nobody confirms what they were not shown.  Numbers are not part of it: they change
 * while one reads.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/config.h"

struct store;

struct loss {
    const char *kind, *name; /* "gateway", "orders" */
    const char *left;        /* what it leaves behind; NULL: nothing */
};

enum { LOSSES_CONFIRM = 17 };

struct losses {
    const struct loss *list;      /* those that leave something behind first */
    size_t count, grave;          /* grave: so many leave something behind */
    char confirm[LOSSES_CONFIRM]; /* the digest of the grave ones; empty: there is none */
};

/* Texts are in the arena, or belong to `old`. */
bool removal_find(struct store *s, const struct config *old, const struct config *fresh,
                  struct arena *a, struct losses *ret, struct err *err);

/* Adds an entry to `to` for each loss that leaves something behind. */
void removal_tell(const struct losses *losses, struct problem_list *to);
