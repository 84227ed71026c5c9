/* jobs_node.h - `waybill jobs next` of a job that a node has.
 *
 * Threads: the main thread.
 */
#pragma once

#include "app/args.h"

/* The next times of the jobs that are named; of none: the next run of each job, by time. */
int jobs_node_next(const struct args *a);
