/* dry.h - where a document would go: extracts and routes it without storing or sending it.
 *
 * Uses the plan in force, as for a document that arrives now.  Steps are listed, not run.
 *
 * Threads: any; computes, does not block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/facts.h"
#include "core/part.h"
#include "core/state.h"

struct road;

struct dry_request {
    struct str gateway;
    struct str body, name; /* name: the file's; empty: none */
    struct str head;       /* header fields in stored form: "Name: value\n" ... */
};

enum { DRY_STEPS_MOST = 64, DRY_DELIVERIES_MOST = 256 + PART_COPIES_MOST };

/* The endpoint of a copy for a subscriber, which is its system.  Names of endpoints have no spaces.
 */
#define DRY_COPY STR("a subscription")

struct dry_delivery {
    struct str endpoint, system;
};

/* Texts are on the arena, or live as long as the store. */
struct dry_result {
    int64_t config; /* the version in force */
    struct facts facts;
    struct str route; /* ptr NULL: none */
    struct str steps[DRY_STEPS_MOST];
    size_t step_count;
    struct dry_delivery deliveries[DRY_DELIVERIES_MOST]; /* and copies */
    size_t delivery_count;

    bool dead; /* it would be a dead letter */
    enum dead_code code;
    struct str message;
};

/* ERR_PERMANENT: there is no such gateway. */
bool dry_run(struct road *r, const struct dry_request *request, struct arena *a,
             struct dry_result *ret, struct err *err);
