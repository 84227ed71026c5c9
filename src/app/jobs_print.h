/* jobs_print.h - jobs and their runs, as the forms of `waybill jobs` show them.
 *
 * Threads: the main thread.
 */
#pragma once

#include <jansson.h>

#include "app/list.h"

/* What the forms ask of a job (schema.graphql: Job, JobRun, Duty). */
#define JOB_FIELDS                                                                              \
    "name title kind area schedule zone log parallel timeout planned broken state next nominal" \
    " lag asked stop { what by reason since until } gone runs leftOut failures tries"           \
    " last { outcome message node began ended } lastSuccess version stateNumber"
#define JOB_RUN_FIELDS \
    "job run node nominal due claimed began ended lag duration outcome message steps stale"

#define DUTY_FIELDS "kind name every last took runs failures error next"

extern const struct list_column job_columns[], job_run_columns[], duty_columns[];

/* One job with its next times, open runs and states, for people. */
void jobs_print_whole(const struct args *a, const json_t *job);
/* What an order has made of a job, in a line. */
void jobs_print_line(const json_t *job);
/* A run with its steps. */
void jobs_print_run(const json_t *run);
