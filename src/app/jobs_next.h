/* jobs_next.h - `waybill jobs next`: the next times of a schedule, computed here, without a node.
 */
#pragma once

#include "app/args.h"

extern const struct arg_option jobs_next_options[];
int jobs_next_run(const struct args *a);
