-- 0033_rate_seen - the clock of the store may be set back, several times.

-- What the clock of the store showed when the schedule of a system was last asked for; 0: not known (core/rate.h).
-- only: sqlite
ALTER TABLE rate_bucket ADD COLUMN seen_ns @INT@ NOT NULL DEFAULT 0;
-- end
-- only: postgresql
ALTER TABLE rate_bucket ADD COLUMN IF NOT EXISTS seen_ns @INT@ NOT NULL DEFAULT 0;
-- end
