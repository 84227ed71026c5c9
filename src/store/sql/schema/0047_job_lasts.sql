-- 0047_job_lasts - how long the run of a claimed job may take.

-- lasts_us: by the settings that its node has claimed it with, which may be others by now; of claims of documents it means
-- nothing.  The default is for claims that were there before.  On SQLite claims are in memory.
-- only: postgresql
ALTER TABLE task_lease ADD COLUMN IF NOT EXISTS lasts_us BIGINT NOT NULL DEFAULT 3600000000;
-- end
