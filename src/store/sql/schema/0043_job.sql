-- 0043_job - recurring work (store/job/job.h).

-- A job.  num: from the numbers of documents, and the id of its token, a task of kind 3.  The token stands at (queue, due_us):
-- in task_later or task_ready, or claimed.  digest: of the settings; version: of the configuration that changed them last.
-- turn: grows with every change of the times.  next_us, nominal_us: when the schedule has its next run, and which; 0: never.
-- asked_us: a person asked for a run beside the schedule.  stop: 0 none, 1 paused, 2 suspended, 3 at its end.  gone_us: since
-- when no configuration has it.  settled_us to first_us: what the schedule knows of the past (struct job_past).  left_out: times
-- that were not served.  runs: all that ended; resets: claims in a row that were taken away.  outcome: of the last run: 0 none,
-- 1 done, 2 failed, 3 cancelled.
CREATE TABLE IF NOT EXISTS job(
    num @ROWKEY@, name TEXT NOT NULL, kind TEXT NOT NULL, area TEXT NOT NULL, queue @INT@ NOT NULL,
    digest @BYTES@ NOT NULL, version @INT@ NOT NULL, turn @INT@ NOT NULL,
    due_us @INT@ NOT NULL, next_us @INT@ NOT NULL, nominal_us @INT@ NOT NULL, asked_us @INT@ NOT NULL DEFAULT 0,
    stop @INT@ NOT NULL DEFAULT 0, stop_us @INT@ NOT NULL DEFAULT 0, stop_until_us @INT@ NOT NULL DEFAULT 0,
    stop_by TEXT NOT NULL DEFAULT '', stop_why TEXT NOT NULL DEFAULT '', gone_us @INT@ NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT '', state_number @INT@ NOT NULL DEFAULT 0, runs @INT@ NOT NULL DEFAULT 0,
    settled_us @INT@ NOT NULL, paused_us @INT@ NOT NULL, last_end_us @INT@ NOT NULL, served @INT@ NOT NULL,
    failures @INT@ NOT NULL, idle @INT@ NOT NULL, more @INT@ NOT NULL, tries @INT@ NOT NULL, tried_us @INT@ NOT NULL,
    first_us @INT@ NOT NULL, left_out @INT@ NOT NULL, resets @INT@ NOT NULL DEFAULT 0, outcome @INT@ NOT NULL DEFAULT 0,
    message TEXT NOT NULL DEFAULT '', node_id @INT@ NOT NULL DEFAULT 0, began_us @INT@ NOT NULL DEFAULT 0,
    ended_us @INT@ NOT NULL DEFAULT 0, ok_us @INT@ NOT NULL DEFAULT 0) @PLAIN@;
CREATE UNIQUE INDEX IF NOT EXISTS job_by_name ON job(name);

-- The last states of a job.
CREATE TABLE IF NOT EXISTS job_state(
    job @INT@ NOT NULL, number @INT@ NOT NULL, at_us @INT@ NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY(job, number)) @PLAIN@;

-- Runs without the token: those beside another one, and those that somebody outside has.
CREATE TABLE IF NOT EXISTS job_run(
    job @INT@ NOT NULL, claim @INT@ NOT NULL, node_id @INT@ NOT NULL, nominal_us @INT@ NOT NULL,
    began_us @INT@ NOT NULL, until_us @INT@ NOT NULL, PRIMARY KEY(job, claim)) @CLUSTERED@;

-- jobs: the configuration version that the jobs follow.
INSERT INTO mark(name, value) VALUES ('jobs', 0) ON CONFLICT(name) DO NOTHING;

-- only: postgresql
-- Every run updates its row; no index has a column that changes, so the update stays within the page.
ALTER TABLE job SET (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000);
-- end
