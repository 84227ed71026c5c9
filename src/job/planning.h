/* planning.h - what the schedule of a job says, as the store keeps it: pure.
 *
 * core/schedule knows times, store/job keeps records; here a record and the settings of its job
 * become a plan: when the next run is due, for which nominal time, what is known of the past from
 * then on, and how many times are left out, with the reasons.
 *
 * A plan is made at each of these moments, and written in the commit of what happens then:
 *
 *     planning_new()        a version has a job that was not there
 *     planning_changed()    a version has other settings for it, or it comes back
 *     planning_now()        it is claimed: has the schedule another time by now?
 *     planning_beside()     a run begins without the token: the time of the next one
 *     planning_end()        a run ended
 *     planning_resumed()    a person resumes it
 *     planning_cancelled()  a person cancels the run that is there: the time that it was for, by
 *                           the moment of its claim, is served
 *
 * A plan has the turn of its record (job.h: struct job_plan).
 *
 * A node that does not know the time zone of a job (book_job.times_unknown) leaves its times to
 * others: by its plan the job is due at once, and whoever claims it and knows its times plans it
 * then (planning_now()).  No time is left out or settled meanwhile but that of a run that ended.
 *
 * Threads: pure; from any.
 */
#pragma once

#include "core/schedule/schedule.h"
#include "store/job/job.h"

struct book_job;

struct planning {
    struct job_plan plan;
    enum schedule_what what; /* of the next run: ENDED, SUSPENDED: there is none */
    enum schedule_end_why why;
    bool late;
    bool again;        /* planning_end(): the run failed, and is repeated */
    bool left_more;    /* more times than were counted */
    int64_t served_us; /* planning_cancelled(): the nominal time of that run; 0: of none */
    struct schedule_left left[SCHEDULE_REASONS];
};

/* How a run ended. */
struct planning_run {
    int64_t nominal_us, began_us, ended_us;
    int64_t planned_us; /* when planning_now() gave it this nominal time */
    enum schedule_outcome outcome;
    bool final; /* failed, and is not repeated */
};

void planning_new(const struct book_job *j, int64_t now_us, struct planning *ret);
void planning_changed(const struct book_job *j, const struct job_record *r, int64_t now_us,
                      struct planning *ret);
void planning_now(const struct book_job *j, const struct job_record *r, int64_t now_us,
                  struct planning *ret);
void planning_beside(const struct book_job *j, const struct job_record *r, int64_t now_us,
                     struct planning *ret);
void planning_end(const struct book_job *j, const struct job_record *r,
                  const struct planning_run *run, int64_t now_us, struct planning *ret);
void planning_resumed(const struct book_job *j, const struct job_record *r, int64_t now_us,
                      struct planning *ret);
void planning_cancelled(const struct book_job *j, const struct job_record *r, int64_t now_us,
                        struct planning *ret);

/* A run that comes, or the end of the schedule. */
struct planning_coming {
    enum schedule_what what;
    enum schedule_end_why why; /* not DUE */
    int64_t nominal_us;        /* DUE */
    int64_t due_us;            /* DUE: when it begins; 0: at once */
    bool late;
    enum nominal_clock clock;
    bool left_more;
    struct schedule_left left[SCHEDULE_REASONS]; /* before it */
};

/* What comes, as if each run took no time and found something: up to `most`. */
size_t planning_forecast(const struct book_job *j, const struct job_record *r, int64_t now_us,
                         size_t most, struct planning_coming *ret);
