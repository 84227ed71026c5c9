/* workbench.h - a road without a node: to try steps and configurations where no node runs.
 *
 * Has a store of its own in an empty folder of the caller, and a road whose threads are not
 * started: it carries dry flights only (trial.h).  Nothing is listened to, and nothing is sent.
 *
 * Threads: one.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "core/config.h"

struct connectors;
struct plan;
struct road;
struct store;
struct workbench;

/* *ret is set after a failure, too. */
bool workbench_open(const char *folder, struct workbench **ret, struct err *err);
void workbench_close(struct workbench *b); /* NULL is fine */

struct road *workbench_road(struct workbench *b);
struct store *workbench_store(struct workbench *b);

/* The plan of a configuration, a reference.  Secrets are those of the workbench's store.  A part
 * that cannot be used is broken; documents that need it are dead letters, which say why. */
bool workbench_plan(struct workbench *b, struct config *config, const struct connectors *connectors,
                    struct plan **ret, struct err *err);
