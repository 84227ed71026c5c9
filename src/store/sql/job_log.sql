-- The log of runs of jobs (store/job/job_log.h): a table for each day, part family 6.

-- columns run_log: ended_us, job, claim, node_id, nominal_us, due_us, claimed_us, began_us, outcome, message, steps, is_stale, stale

-- name: job_log_make
CREATE TABLE IF NOT EXISTS job_log_@SLOT@(
    ended_us @INT@ NOT NULL, job @INT@ NOT NULL, claim @INT@ NOT NULL, node_id @INT@ NOT NULL, nominal_us @INT@ NOT NULL,
    due_us @INT@ NOT NULL, claimed_us @INT@ NOT NULL, began_us @INT@ NOT NULL, outcome @INT@ NOT NULL, message TEXT NOT NULL,
    steps TEXT NOT NULL, is_stale @INT@ NOT NULL, stale TEXT NOT NULL, PRIMARY KEY(ended_us, job, claim)) @PLAIN@;

-- name: job_log_index
CREATE INDEX IF NOT EXISTS job_log_by_job_@SLOT@ ON job_log_@SLOT@(job, ended_us, claim);

-- name: job_log_add
-- in:  $1 ended int, $2 job int, $3 claim int, $4 node int, $5 nominal int, $6 due int, $7 claimed int, $8 began int,
--      $9 outcome int, $10 message text, $11 steps text, $12 is_stale int, $13 stale text
-- batch
INSERT INTO job_log_@SLOT@(ended_us, job, claim, node_id, nominal_us, due_us, claimed_us, began_us, outcome, message, steps, is_stale, stale)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING;

-- name: job_log_page
-- in:  $1 ended int, $2 job int, $3 claim int, $4 limit int
-- out: @run_log@
SELECT @run_log@ FROM job_log_@SLOT@ WHERE (ended_us, job, claim) < ($1, $2, $3)
ORDER BY ended_us DESC, job DESC, claim DESC LIMIT $4;

-- name: job_log_page_job
-- in:  $1 job int, $2 ended int, $3 claim int, $4 limit int
-- out: @run_log@
SELECT @run_log@ FROM job_log_@SLOT@ WHERE job = $1 AND (ended_us, claim) < ($2, $3)
ORDER BY ended_us DESC, claim DESC LIMIT $4;

-- name: job_log_oldest
-- in:  $1 family int
SELECT min(slot) FROM part WHERE family = $1;

-- name: job_log_old
-- in:  $1 family int, $2 before int, $3 limit int
SELECT slot FROM part WHERE family = $1 AND slot < $2 ORDER BY slot LIMIT $3 @FOR_UPDATE@;

-- name: job_log_lock
SELECT 1;

-- name: job_log_lock
-- for: postgresql
LOCK TABLE job_log_@SLOT@ IN ACCESS EXCLUSIVE MODE NOWAIT;

-- name: job_log_drop
DROP TABLE IF EXISTS job_log_@SLOT@;
