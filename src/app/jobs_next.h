/* jobs_next.h - `waybill jobs next`: the next times of a schedule, computed here, without a node.
 *
 * Threads: the main thread.
 */
#pragma once

#include "app/args.h"
#include "core/schedule/schedule.h"

extern const struct arg_option jobs_next_options[];
/* Without a schedule, a file or --from it asks the node (jobs_node.h). */
int jobs_next_run(const struct args *a);

/* ---- for jobs_node.c ---- */

struct jobs_next_showing {
    const char *job; /* NULL: a schedule of the command line */
    const struct zone *zone;
    bool json;
    int64_t from_us, offset_s; /* offset_s: of the time that was shown last */
};

/* From now on; the offset is that of the zone at from_us. */
struct jobs_next_showing jobs_next_showing(const char *job, const struct zone *zone, bool json,
                                           int64_t from_us);
/* One line each: what is left out, a run that begins at now_us, the end. */
void jobs_next_show_left(const struct jobs_next_showing *s, const struct schedule_next *n);
void jobs_next_show_run(struct jobs_next_showing *s, const struct schedule_next *n, int64_t now_us,
                        enum nominal_clock clock);
void jobs_next_show_end(const struct jobs_next_showing *s, enum schedule_end_why why);
