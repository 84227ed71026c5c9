/* scratch.h - a configuration without a node, for `waybill try` and `waybill test`.
 *
 * Loads a configuration with the files that it names and compiles its steps, as `waybill check`
 * does, and builds its plan on a workbench (engine/rehearse/workbench.h) in a folder that is
 * removed at the end, also if somebody interrupts it.  Problems are printed with their places.
 */
#pragma once

#include <limits.h>

#include "app/temp_folder.h"
#include "base/arena.h"
#include "base/str.h"

struct config;
struct plan;
struct workbench;

struct scratch {
    char folder[PATH_MAX]; /* empty: none yet */
    struct temp_guard guard;
    struct workbench *bench;
    struct plan *plan; /* after scratch_plan() */
};

/* The first two of three calls; the exit status, EXIT_DONE for success. */
int scratch_open(struct scratch *s);
/* The files of a folder are secrets: name and value.  A folder that does not exist has none, unless
 * it `must` be there. */
int scratch_secrets(struct scratch *s, const char *folder, bool must);
/* `file`: the configuration, NULL: none.  `step`: takes the place of its routes, with ptr NULL they
 * are as they are. */
int scratch_plan(struct scratch *s, const char *file, struct str step);
void scratch_close(struct scratch *s); /* safe on a zeroed one */
