/* jobs_next.h - `waybill jobs next`: the next times of a schedule, computed here, without a node.
 *
 * Threads: the main thread.
 */
#pragma once

#include "app/args.h"

struct zone;

enum { JOBS_NEXT_LOCAL = 120 };

extern const struct arg_option jobs_next_options[];
/* Without a schedule, a file or --from it asks the node (jobs_node.h). */
int jobs_next_run(const struct args *a);

/* "2026-03-29T03:00:00+02:00", or with blanks, for people. */
const char *jobs_next_local(const struct zone *z, int64_t at_us, bool json,
                            char text[static JOBS_NEXT_LOCAL]);
