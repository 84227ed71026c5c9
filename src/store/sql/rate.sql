-- Rate limits of systems: reserving pieces of a schedule (core/rate.h).

-- name: rate_lock
-- in:  $1 system int
-- out: next_ns, seen_ns
-- The row is ours until the commit, and made when it is new.
INSERT INTO rate_bucket(system, next_ns) VALUES ($1, 0)
ON CONFLICT(system) DO UPDATE SET next_ns = rate_bucket.next_ns RETURNING next_ns, seen_ns;

-- name: rate_now
-- The clock of the store, in microseconds.
SELECT @NOW_US@;

-- name: rate_put
-- in:  $1 system int, $2 next int, $3 seen int
UPDATE rate_bucket SET next_ns = $2, seen_ns = $3 WHERE system = $1;
