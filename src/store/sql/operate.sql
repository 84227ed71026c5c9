-- Manual changes (retry, cancel, discard), dead letters, the state of endpoints (breakers,
-- pauses), mishaps.  Numeric states as in core/state.h.

-- columns dead_row: num = t.id, died_us = t.died_us, code = t.code, message = t.message, doc = d.num, doc_id = d.id,
--      delivery = v.num, endpoint = v.endpoint, gateway = d.gateway, sender = d.sender, receiver = d.receiver,
--      dtype = d.dtype, facts = d.facts, name = d.name, delivery_id = v.id

-- name: operate_doc
-- in:  $1 num int
-- out: id, received_us, again, has_facts, facts
-- has_facts is 1 when something was found in it.
SELECT id, received_us, again,
    CASE WHEN sender = 0 AND receiver = 0 AND dtype = 0 AND facts IS NULL THEN 0 ELSE 1 END, facts
FROM doc WHERE num = $1 @FOR_UPDATE@;

-- name: operate_standing
-- only: postgresql
-- in:  $1 doc int
-- Locks deliveries of a lane that have no task: those that wait in it, and dead ones at its head.
SELECT count(*) FROM (SELECT 1 FROM delivery WHERE doc = $1 AND lane <> 0
    AND (turn + 0 = 1 OR (turn + 0 = 2 AND state = 6)) ORDER BY num + 0 FOR UPDATE) AS standing;

-- name: operate_deliveries
-- in:  $1 doc int
-- out: num, id, endpoint, queue, state, due_us, intent_us, lane, turn
SELECT num, id, endpoint, queue, state, due_us, intent_us, lane, turn FROM delivery WHERE doc = $1 ORDER BY num + 0;

-- name: operate_done
-- in:  $1 num int
-- out: id, state, has_facts, facts
SELECT id, state,
    CASE WHEN sender = 0 AND receiver = 0 AND dtype = 0 AND facts IS NULL THEN 0 ELSE 1 END, facts
FROM done_@SLOT@ WHERE num = $1 @FOR_UPDATE@;

-- name: operate_lease
-- only: postgresql
-- in:  $1 id int
SELECT count(*) FROM task_lease WHERE id = $1;

-- name: operate_ready_find
-- in:  $1 queue int, $2 prio int, $3 rank int, $4 id int
-- out: prio, rank
-- One that somebody else has in hand is not there.
SELECT prio, rank FROM task_ready WHERE queue = $1 AND prio = $2 AND rank = $3 AND id = $4 @SKIP_LOCKED@;

-- name: operate_ready_search
-- in:  $1 queue int, $2 id int
-- out: prio, rank
SELECT prio, rank FROM task_ready WHERE queue = $1 AND id = $2 @SKIP_LOCKED@;

-- name: operate_later_find
-- in:  $1 due int, $2 id int
SELECT due_us FROM task_later WHERE due_us = $1 AND id = $2 @SKIP_LOCKED@;

-- name: operate_later_search
-- in:  $1 id int
SELECT due_us FROM task_later WHERE id = $1 @SKIP_LOCKED@;

-- name: operate_dead_find
-- in:  $1 id int
SELECT id FROM task_dead WHERE id = $1 @SKIP_LOCKED@;

-- name: operate_ready_drop
-- in:  $1 queue int, $2 prio int, $3 rank int, $4 id int
DELETE FROM task_ready WHERE queue = $1 AND prio = $2 AND rank = $3 AND id = $4;

-- name: operate_dead_drop
-- in:  $1 id int
DELETE FROM task_dead WHERE id = $1;

-- name: operate_forget
-- in:  $1 num int
-- Clears the extracted values for a new extraction; not those of the document of a batch, of a copy, an answer or a part
-- (kinds 3 to 5), which were never extracted.
UPDATE doc SET sender = 0, receiver = 0, dtype = 0, route = 0, facts = NULL
WHERE num = $1 AND NOT EXISTS (SELECT 1 FROM batch b WHERE b.doc = $1 AND b.doc > 0)
    AND NOT EXISTS (SELECT 1 FROM link l WHERE l.child = $1 AND l.kind > 2);

-- name: operate_version
-- in:  $1 num int, $2 config int, $3 again int
-- config 0: keep the version.  A document of which some parts are made goes on with the version that made them: another
-- one may divide it otherwise.
UPDATE doc SET again = again + $3,
    config = coalesce((SELECT o.config FROM offspring o WHERE o.doc = $1 AND o.made > 0), nullif($2, 0), config)
WHERE num = $1;

-- name: delivery_again
-- in:  $1 num int, $2 id text, $3 now int, $4 anew int
-- Ready, as if never tried.  Under a new id (anew 1) it also gets a new name at its receiver, and
-- the old intent is dropped.
UPDATE delivery SET state = 0, id = $2, attempts = 0, first_us = $3, due_us = $3, code = NULL,
    message = NULL, status = 0, name = CASE WHEN $4 = 1 THEN NULL ELSE name END,
    intent_us = CASE WHEN $4 = 1 THEN 0 ELSE intent_us END, asked = 0, updated_us = @NOW_US@,
    turn = CASE WHEN lane <> 0 AND turn = 0 THEN 1 ELSE turn END
WHERE num = $1;

-- name: delivery_cancel
-- in:  $1 num int
UPDATE delivery SET state = 7, intent_us = 0, asked = 0, expires_us = 0, turn = 0, updated_us = @NOW_US@ WHERE num = $1;

-- name: operate_revive
-- in:  $1 num int
-- An ended document lives again.
INSERT INTO doc(@doc@, updated_us)
SELECT @doc@, @NOW_US@
FROM done_@SLOT@ WHERE num = $1;

-- name: operate_revive
-- for: postgresql
-- in:  $1 num int
WITH gone AS (DELETE FROM done_@SLOT@ WHERE num = $1 RETURNING *)
INSERT INTO doc(@doc@, updated_us)
SELECT @doc@, @NOW_US@
FROM gone;

-- name: operate_revived
-- only: sqlite
-- in:  $1 num int
DELETE FROM done_@SLOT@ WHERE num = $1;

-- name: dead_page
-- in:  $1 above int, $2 limit int
-- out: @dead_row@
SELECT @dead_row@
FROM task_dead t LEFT JOIN delivery v ON t.kind = 2 AND v.num = @KEY(t.id)@
JOIN doc d ON d.num = @KEY(CASE WHEN t.kind = 2 THEN v.doc ELSE t.id END)@
WHERE t.id > $1 AND t.code <> 'in_doubt' ORDER BY t.id LIMIT $2;

-- name: dead_page_of_code
-- in:  $1 above int, $2 limit int, $3 code text
-- out: @dead_row@
SELECT @dead_row@
FROM task_dead t LEFT JOIN delivery v ON t.kind = 2 AND v.num = @KEY(t.id)@
JOIN doc d ON d.num = @KEY(CASE WHEN t.kind = 2 THEN v.doc ELSE t.id END)@
WHERE t.code = $3 AND t.id > $1 AND t.code <> 'in_doubt' ORDER BY t.id LIMIT $2;

-- name: endpoint_state_put
-- in:  $1 endpoint int, $2 breaker int, $3 node int, $4 since int, $5 until int, $6 message text
-- since_us stays that of the first report.
INSERT INTO endpoint_state(endpoint, breaker, node_id, since_us, until_us, message)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT(endpoint, breaker) DO UPDATE SET node_id = excluded.node_id, until_us = excluded.until_us,
    message = excluded.message;

-- name: endpoint_state_close
-- in:  $1 endpoint int
DELETE FROM endpoint_state WHERE endpoint = $1 AND breaker > 0;

-- name: endpoint_state_all
-- in:  $1 limit int
-- out: endpoint, breaker, node_id, since_us, until_us, message
SELECT endpoint, breaker, node_id, since_us, until_us, message FROM endpoint_state
ORDER BY endpoint, breaker LIMIT $1;

-- name: mishap_add
-- in:  $1 code text, $2 object text, $3 message text, $4 n int, $5 first int, $6 last int
INSERT INTO mishap(code, object, message, n, first_us, last_us) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT(code, object) DO UPDATE SET n = mishap.n + excluded.n, message = excluded.message,
    last_us = excluded.last_us;

-- name: mishap_prune
-- in:  $1 most int
-- Keeps the newest: objects come and go with configurations.
DELETE FROM mishap WHERE last_us < (SELECT last_us FROM mishap ORDER BY last_us DESC LIMIT 1 OFFSET $1);

-- name: mishap_all
-- in:  $1 limit int
-- out: code, object, message, n, first_us, last_us
SELECT code, object, message, n, first_us, last_us FROM mishap
ORDER BY last_us DESC, code, object LIMIT $1;
