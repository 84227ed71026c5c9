#include "store/job/job_states.h"

#include "store/kernel/reader.h"

static void job_read_state(struct db_rows *row, struct arena *a, void *to)
{
    *(struct job_state *)to = (struct job_state){ .number = db_get_int(row, JOB_STATES_NUMBER),
                                                  .at_us = db_get_int(row, JOB_STATES_AT_US),
                                                  .text = row_text(row, JOB_STATES_STATE, a) };
}

bool job_states(struct store *s, int64_t job, struct arena *a,
                struct job_state ret[static JOB_STATES_KEPT], size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_JOB_STATES, DB_ARGS(db_int(job), db_int(JOB_STATES_KEPT)),
                         ROWS_INTO(ret, JOB_STATES_KEPT, a, job_read_state), ret_count, err);
}
