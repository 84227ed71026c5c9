-- Waiting deliveries past their expiry, except those that may have been sent.  delivery_by_expiry has only rows that expire.

-- name: expire_next
-- When the next one does.
SELECT (SELECT expires_us FROM delivery WHERE expires_us > 0 ORDER BY expires_us LIMIT 1);

-- name: expire_due
-- in:  $1 now int, $2 after int, $3 num int, $4 limit int
-- out: num, expires_us, doc, endpoint, queue, attempts, due_us, received_us, message, turn
-- Behind a place.
SELECT v.num, v.expires_us, v.doc, v.endpoint, v.queue, v.attempts, v.due_us, d.received_us, v.message, v.turn
FROM delivery v JOIN doc d ON d.num = @KEY(v.doc)@
WHERE v.expires_us > 0 AND v.expires_us <= $1 AND (v.expires_us, v.num) > ($2, $3) AND v.state IN (0, 3)
    AND v.intent_us = 0
ORDER BY v.expires_us, v.num LIMIT $4;

-- name: expire_ready
-- in:  $1 queue int, $2 id int, $3 received int, $4 due int
-- The keys that tasks of deliveries usually have; only a moved task must be searched for (expire_search).
DELETE FROM task_ready WHERE queue = $1 AND prio IN (2, 4, 5, 6) AND rank IN ($3, $4) AND id = $2;

-- name: expire_ready
-- for: postgresql
-- in:  $1 queue int, $2 id int, $3 received int, $4 due int
-- By complete keys, so that no plan scans the queue; by ctid as in task_claim.
DELETE FROM task_ready WHERE ctid = ANY (ARRAY(SELECT f.place
    FROM (VALUES (2::bigint), (4), (5), (6)) AS p(prio) CROSS JOIN (VALUES ($3::bigint), ($4::bigint)) AS r(rank)
    CROSS JOIN LATERAL (SELECT t.ctid AS place FROM task_ready t
        WHERE t.queue = $1 AND t.prio = p.prio AND t.rank = r.rank AND t.id = $2 OFFSET 0) AS f));

-- name: expire_search
-- in:  $1 queue int, $2 id int
DELETE FROM task_ready WHERE queue = $1 AND id = $2;

-- name: expire_put
-- in:  $1 num int, $2 message text, $3 turn int
-- An expired delivery leaves its lane and does not block it.  A delivery that waits in its lane (turn 1) has no task
-- to claim, so the condition checks that it still waits.
UPDATE delivery SET state = 6, code = 'expired', message = $2, due_us = 0, expires_us = 0,
    turn = 0, updated_us = @NOW_US@
WHERE num = $1 AND (CAST($3 AS BIGINT) <> 1 OR (turn + 0 = 1 AND state IN (0, 3)));
