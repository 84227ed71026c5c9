#include "store/job/job_ack.h"

#include "store/db/rows.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

static void job_read_ack(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct job_ack *)to =
        (struct job_ack){ .job = db_get_int(row, JOB_ACK_GET_JOB),
                          .claim = db_get_int(row, JOB_ACK_GET_CLAIM),
                          .secret = row_sha256(row, JOB_ACK_GET_SECRET),
                          .said = row_sha256(row, JOB_ACK_GET_SAID),
                          .outcome = (enum job_outcome)db_get_int(row, JOB_ACK_GET_OUTCOME),
                          .stale = db_get_int(row, JOB_ACK_GET_STALE) != 0 };
}

bool job_ack_get(struct store *s, int64_t job, int64_t claim, struct job_ack *ret, bool *ret_found,
                 struct err *err)
{
    return store_one(s, SQL_JOB_ACK_GET, DB_ARGS(db_int(job), db_int(claim)), job_read_ack, NULL,
                     ret, ret_found, err);
}

bool job_ack_put(struct writer *w, const struct job_ack *ack, int64_t ended_us, struct err *err)
{
    return db_run(w->db, SQL_JOB_ACK_TRIM,
                  DB_ARGS(db_int(ack->job), db_int(ended_us - JOB_ACK_KEPT_US)), NULL, err) &&
           db_run(w->db, SQL_JOB_ACK_PUT,
                  DB_ARGS(db_int(ack->job), db_int(ack->claim),
                          db_bytes(str_mem(ack->secret.bytes, SHA256_SIZE)),
                          db_bytes(str_mem(ack->said.bytes, SHA256_SIZE)), db_int(ack->outcome),
                          db_int(ack->stale), db_int(ended_us)),
                  NULL, err);
}
