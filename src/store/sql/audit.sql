-- The audit log (store/audit/audit.h).

-- columns line: seq, time_us, actor, kind, address, action, object, was, became, reason, prev, hash

-- name: audit_take
-- in:  $1 count int
-- The last number of so many, behind every line that there is.
UPDATE mark SET value = $1 + (CASE WHEN value < (SELECT coalesce(max(seq), 0) FROM audit)
    THEN (SELECT max(seq) FROM audit) ELSE value END)
WHERE name = 'audit' RETURNING value;

-- name: audit_before
-- in:  $1 seq int
-- out: hash, now_us
-- The hash of that line, NULL when it is not there, and the time.
SELECT (SELECT hash FROM audit WHERE seq = $1), @NOW_US@;

-- name: audit_add
-- in:  $1 seq int, $2 time int, $3 actor text, $4 kind text, $5 address text, $6 action text, $7 object text,
--      $8 was text, $9 became text, $10 reason text, $11 prev bytes, $12 hash bytes
-- batch
INSERT INTO audit(seq, time_us, actor, kind, address, action, object, was, became, reason, prev, hash)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- name: audit_oldest
-- in:  $1 above int, $2 limit int
-- out: seq, time_us, hash
SELECT seq, time_us, hash FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2;

-- name: audit_drop
-- in:  $1 upto int
DELETE FROM audit WHERE seq <= $1;

-- name: audit_slice
-- in:  $1 above int, $2 limit int
-- out: @line@
-- By number, for the chain.
SELECT @line@ FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2;

-- name: audit_page
-- in:  $1 since int, $2 time int, $3 seq int, $4 limit int
-- out: @line@
-- The newest first, below a time and number; one of four, each with an index of its own.  '' is any.
SELECT @line@ FROM audit WHERE time_us >= $1 AND (time_us, seq) < ($2, $3)
ORDER BY time_us DESC, seq DESC LIMIT $4;

-- name: audit_page_object
-- in:  $1 since int, $2 time int, $3 seq int, $4 limit int, $5 actor text, $6 action text, $7 object text
-- out: @line@
SELECT @line@ FROM audit WHERE object = $7 AND time_us >= $1 AND (time_us, seq) < ($2, $3)
    AND (CAST($5 AS TEXT) = '' OR actor = $5) AND (CAST($6 AS TEXT) = '' OR action = $6)
ORDER BY time_us DESC, seq DESC LIMIT $4;

-- name: audit_page_actor
-- in:  $1 since int, $2 time int, $3 seq int, $4 limit int, $5 actor text, $6 action text
-- out: @line@
SELECT @line@ FROM audit WHERE actor = $5 AND time_us >= $1 AND (time_us, seq) < ($2, $3)
    AND (CAST($6 AS TEXT) = '' OR action = $6)
ORDER BY time_us DESC, seq DESC LIMIT $4;

-- name: audit_page_action
-- in:  $1 since int, $2 time int, $3 seq int, $4 limit int, $5 action text
-- out: @line@
SELECT @line@ FROM audit WHERE action = $5 AND time_us >= $1 AND (time_us, seq) < ($2, $3)
ORDER BY time_us DESC, seq DESC LIMIT $4;
