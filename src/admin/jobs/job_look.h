/* job_look.h - a job as the admin API shows it, for the resolvers that look and those that change.
 */
#pragma once

#include "admin/graphql/graphql.h"
#include "job/jobs.h"

/* Answers the field with the job of that name, with its settings; null: there is none. */
bool api_set_job(struct graphql_call *call, struct str name, struct err *err);

/* "there is no job NAME", with the nearest name of the live configuration. */
bool api_say_no_job(struct graphql_call *call, struct str name, struct err *err);
