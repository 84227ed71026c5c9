-- 0046_job_ack - acknowledgements of runs that somebody outside had (store/job/job_ack.h).

-- Kept for a while, so that the same one again gets the same answer.  secret: digest of that of the run; said: digest of what was
-- acknowledged; outcome, stale: what became of it.
CREATE TABLE job_ack(
    job @INT@ NOT NULL, claim @INT@ NOT NULL, secret @BYTES@ NOT NULL, said @BYTES@ NOT NULL,
    outcome @INT@ NOT NULL, stale @INT@ NOT NULL, at_us @INT@ NOT NULL, PRIMARY KEY(job, claim)) @CLUSTERED@;
CREATE INDEX job_ack_by_time ON job_ack(job, at_us);
