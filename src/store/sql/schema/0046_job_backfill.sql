-- 0046_job_backfill - past times of jobs that are still to be served (store/job/job_backfill.h).

-- One row for each time.  number: of the backfill, the same for all its times; tries: how often its run has failed; after_us: it is not begun again before.
CREATE TABLE IF NOT EXISTS job_backfill(
    job @INT@ NOT NULL, nominal_us @INT@ NOT NULL, number @INT@ NOT NULL, tries @INT@ NOT NULL DEFAULT 0, after_us @INT@ NOT NULL DEFAULT 0,
    PRIMARY KEY(job, nominal_us)) @CLUSTERED@;
