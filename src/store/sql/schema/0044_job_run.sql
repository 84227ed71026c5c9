-- 0044_job_run - runs without the token (store/job/job_run.h).

-- No version has written to the table before.  state_number: of the state that the run has read.  waits: 1: the token of the
-- job waits for this run, as its time-out.  outside: 1: no node runs it, somebody acknowledges it, with what has the digest ack.
DROP TABLE job_run;
CREATE TABLE job_run(
    job @INT@ NOT NULL, claim @INT@ NOT NULL, node_id @INT@ NOT NULL, nominal_us @INT@ NOT NULL,
    began_us @INT@ NOT NULL, until_us @INT@ NOT NULL, state_number @INT@ NOT NULL, waits @INT@ NOT NULL,
    outside @INT@ NOT NULL, ack @BYTES@ NOT NULL, PRIMARY KEY(job, claim)) @CLUSTERED@;
CREATE INDEX job_run_by_end ON job_run(until_us);
CREATE INDEX job_run_inside ON job_run(node_id) WHERE outside = 0;
