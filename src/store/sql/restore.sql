-- After a restore: its record, and the restored documents that have not ended.  Numeric states
-- as in core/state.h.

-- columns restored: num, id

-- name: restore_add
-- in:  $1 taken int, $2 source text, $3 upto int
INSERT INTO restore(num, made_us, taken_us, source, upto)
SELECT coalesce(max(num), 0) + 1, @NOW_US@, $1, $2, $3 FROM restore;

-- name: restore_newest
-- out: made_us, taken_us, source, upto, rule, chosen_us, chosen_by, done_us
SELECT made_us, taken_us, source, upto, rule, chosen_us, chosen_by, done_us FROM restore
ORDER BY num DESC LIMIT 1;

-- name: restore_last
SELECT coalesce(max(num), 0) FROM restore;

-- name: restore_waiting
-- The newest that is not released.
SELECT coalesce(max(num), 0) FROM restore WHERE coalesce(done_us, 0) = 0;

-- name: restore_tell
-- only: sqlite
-- in:  $1 more text
UPDATE restore SET source = source || $1 WHERE num = (SELECT max(num) FROM restore);

-- name: restore_choose
-- in:  $1 rule int, $2 by text
-- The choice is final, because part of it may have been executed.
UPDATE restore SET rule = $1, chosen_us = @NOW_US@, chosen_by = $2 WHERE done_us = 0 AND rule IN (0, $1);

-- name: restore_done
UPDATE restore SET done_us = @NOW_US@ WHERE done_us = 0;

-- name: restore_deliveries
-- in:  $1 above int, $2 upto int, $3 limit int
-- out: @restored@
SELECT v.num, d.id FROM delivery v JOIN doc d ON d.num = @KEY(v.doc)@
WHERE v.num > $1 AND v.doc <= $2 AND v.state IN (0, 3) ORDER BY v.num LIMIT $3;

-- name: restore_unrouted
-- in:  $1 above int, $2 upto int, $3 limit int
-- out: @restored@
-- Documents that are still to be routed.
SELECT num, id FROM doc WHERE num > $1 AND num <= $2
AND (num IN (SELECT t.id FROM task_ready t WHERE t.queue = 1 AND t.id > $1 AND t.id <= $2)
    OR num IN (SELECT t.id FROM task_later t WHERE t.kind = 1 AND t.id > $1 AND t.id <= $2)
    OR EXISTS (SELECT 1 FROM task_lease t WHERE t.id = @KEY(doc.num)@)) ORDER BY num LIMIT $3;

-- name: restore_members
-- in:  $1 above int, $2 upto int, $3 limit int
-- out: @restored@
-- Members of batches that are no documents yet.
SELECT m.doc AS num, d.id FROM batch_member m JOIN doc d ON d.num = @KEY(m.doc)@
WHERE m.doc > $1 AND m.doc <= $2 AND (SELECT b.state FROM batch b WHERE b.num = m.batch) < 2
ORDER BY m.doc LIMIT $3;

-- name: restore_batch_end
-- in:  $1 num int
-- A closing batch whose members have all left is not sent empty.
UPDATE batch SET state = 3, ended_us = @NOW_US@, node_id = 0, code = NULL, message = NULL
WHERE num = $1 AND state = 1 AND NOT EXISTS (SELECT 1 FROM batch_member m WHERE m.batch = $1);

-- name: restore_empty_cancel
-- in:  $1 upto int
-- Ends batches that were closing empty.
UPDATE batch SET state = 3, ended_us = @NOW_US@, node_id = 0, claim = claim + 1, code = NULL, message = NULL
WHERE state = 1 AND num <= $1 AND NOT EXISTS (SELECT 1 FROM batch_member m WHERE m.batch = batch.num);

-- name: restore_empty_doubt
-- in:  $1 upto int, $2 code text, $3 message text
-- Such batches are not built until a person decides (batch_again).
UPDATE batch SET due_us = 9223372036854775807, node_id = 0, claim = claim + 1, code = $2, message = $3
WHERE state = 1 AND num <= $1 AND code IS NULL
    AND NOT EXISTS (SELECT 1 FROM batch_member m WHERE m.batch = batch.num);

-- name: delivery_doubt
-- in:  $1 num int, $2 message text
-- In a lane it is the head (turn 2): the deliveries behind it wait.
UPDATE delivery SET state = 4, code = 'in_doubt', message = $2, intent_us = 0, asked = 0, expires_us = 0,
    turn = CASE WHEN lane <> 0 THEN 2 ELSE 0 END, updated_us = @NOW_US@
WHERE num = $1;

-- name: restore_alive
-- Nodes that run.
SELECT count(*) FROM node WHERE state = 0 AND alive_until_us > @NOW_US@;
