-- 0041_run_retrying - documents whose own run is tried again later are found, and shown as such.

-- kind 1: a document's run.  A run that waits for a delay or its turn counts no attempt and has no entry here; deliveries
-- have theirs in delivery_retrying.  Negated for the reason that 0018_trouble has; who looks one up negates its number, too.
CREATE INDEX IF NOT EXISTS task_later_run ON task_later((-id)) WHERE kind = 1 AND attempts > 0;
