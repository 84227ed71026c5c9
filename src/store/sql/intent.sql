-- Intents: recorded before the send of a delivery that must not be repeated blindly.

-- name: intent_put
-- only: sqlite
-- in:  $1 num int, $2 attempts int, $3 first int
UPDATE delivery SET intent_us = @NOW_US@, attempts = $2, first_us = $3 WHERE num = $1 AND state IN (0, 3);

-- name: intent_leased
-- only: postgresql
-- in:  $1 num int, $2 claim int, $3 attempts int, $4 first int
-- batch
-- for: postgresql
-- Which of the claims were still ours.
-- The lease is held until the commit: who takes the delivery over after that sees the intent.
WITH held AS MATERIALIZED (
    SELECT u.at, u.num, u.attempts, u.first_us
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY
        AS u(num, claim, attempts, first_us, at)
    JOIN task_lease l ON l.id = @KEY(u.num)@ AND l.claim = u.claim ORDER BY u.num FOR UPDATE OF l)
UPDATE delivery v SET intent_us = @NOW_US@, attempts = h.attempts, first_us = h.first_us
FROM held h WHERE v.num = @KEY(h.num)@ AND v.state IN (0, 3) RETURNING h.at;

-- name: resolve_since
-- in:  $1 num int
-- out: died_us
-- When the delivery came into doubt.
SELECT died_us FROM task_dead WHERE id = $1;

-- name: resolve_delivered
-- in:  $1 num int
-- A person confirms that the receiver has it.
UPDATE delivery SET state = 5, code = NULL, message = NULL, intent_us = 0, asked = 0, due_us = 0, turn = 0,
    updated_us = @NOW_US@
WHERE num = $1 AND state = 4;
