-- 0032_rate_seen - the clock of the store may be set back, several times.

-- What the clock of the store showed when the schedule of a system was last asked for; 0: not known (core/rate.h).
ALTER TABLE rate_bucket ADD COLUMN seen_ns @INT@ NOT NULL DEFAULT 0;
