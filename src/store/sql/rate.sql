-- Rate limits of systems: reserving pieces of a schedule (core/rate.h).

-- name: rate_lock
-- in:  $1 system int
-- Next_ns; the row is ours until the commit, and made when it is new.
INSERT INTO rate_bucket(system, next_ns) VALUES ($1, 0)
ON CONFLICT(system) DO UPDATE SET next_ns = rate_bucket.next_ns RETURNING next_ns;

-- name: rate_now
-- The clock of the store, in microseconds.
SELECT @NOW_US@;

-- name: rate_put
-- in:  $1 system int, $2 next int
UPDATE rate_bucket SET next_ns = $2 WHERE system = $1;
