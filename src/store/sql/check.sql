-- Consistency checks, in slices of document numbers.  Task tables are not sorted by number: a
-- task is looked up by the key it should have, and only missing ones are searched in the whole
-- table, once per slice.  Numeric delivery states as in core/state.h.

-- columns slice: rows = count(*), upto = max(num)
-- columns carried: queue, prio, rank, id, is_good

-- name: doc_slice
-- in:  $1 above int, $2 most int
-- out: @slice@
-- How many documents are next, and the num of the last of them.
SELECT @slice@ FROM (SELECT num FROM doc WHERE num > $1 ORDER BY num LIMIT $2) AS slice;

-- name: done_slice
-- in:  $1 above int, $2 most int
-- out: @slice@
SELECT @slice@ FROM (SELECT num FROM done_@SLOT@ WHERE num > $1 ORDER BY num LIMIT $2) AS slice;

-- name: delivery_slice
-- in:  $1 above int, $2 most int
-- out: @slice@
SELECT @slice@ FROM (SELECT num FROM delivery WHERE num > $1 ORDER BY num LIMIT $2) AS slice;

-- name: batch_slice
-- in:  $1 above int, $2 most int
-- out: @slice@
SELECT @slice@ FROM (SELECT num FROM batch WHERE num > $1 AND state < 3 ORDER BY num LIMIT $2) AS slice;

-- name: doc_without_task
-- in:  $1 above int, $2 upto int
-- Live documents without a task, an open delivery or a batch: nothing would process them.
SELECT count(*) FROM doc WHERE num > $1 AND num <= $2 AND 1 = CASE
    WHEN (SELECT t.id FROM task_ready t
        WHERE t.queue = 1 AND t.prio = 4 AND t.rank = doc.received_us AND t.id = doc.num) IS NOT NULL THEN 0
    WHEN EXISTS (SELECT 1 FROM delivery v WHERE v.doc = @KEY(doc.num)@ AND v.state NOT IN (5, 7)) THEN 0
    WHEN EXISTS (SELECT 1 FROM task_dead t WHERE t.id = @KEY(doc.num)@) THEN 0
    WHEN EXISTS (SELECT 1 FROM task_lease t WHERE t.id = @KEY(doc.num)@) THEN 0
    WHEN EXISTS (SELECT 1 FROM batch_member m WHERE m.doc = @KEY(doc.num)@) THEN 0
    WHEN num IN (SELECT t.id FROM task_later t WHERE t.id > $1 AND t.id <= $2) THEN 0
    WHEN num IN (SELECT t.id FROM task_ready t WHERE t.queue = 1 AND t.id > $1 AND t.id <= $2) THEN 0
    ELSE 1 END;

-- name: delivery_wrong
-- in:  $1 above int, $2 upto int
-- Deliveries without their document, in a state that is never stored, with an intent in a state
-- that has none, or without the task that their state requires.
SELECT count(*) FROM delivery v LEFT JOIN doc d ON d.num = @KEY(v.doc)@
WHERE v.num > $1 AND v.num <= $2 AND 1 = CASE
    WHEN d.num IS NULL OR v.state NOT IN (0, 3, 4, 5, 6, 7) THEN 1
    WHEN v.intent_us <> 0 AND v.state NOT IN (0, 3) THEN 1
    WHEN v.state IN (5, 7) AND v.turn <> 0 THEN 1
    WHEN v.state IN (5, 7) THEN 0
    WHEN v.turn = 1 AND (v.state <> 0 OR v.lane = 0) THEN 1
    WHEN v.state = 6 AND EXISTS (SELECT 1 FROM task_dead t WHERE t.id = v.num AND t.code <> 'in_doubt') THEN 0
    WHEN v.state = 4 AND EXISTS (SELECT 1 FROM task_dead t WHERE t.id = v.num AND t.code = 'in_doubt') THEN 0
    WHEN v.state IN (4, 6) THEN 1
    WHEN v.turn = 1 THEN 0
    WHEN EXISTS (SELECT 1 FROM task_later t WHERE t.due_us = @KEY(v.due_us)@ AND t.id = v.num) THEN 0
    WHEN EXISTS (SELECT 1 FROM task_ready t WHERE t.queue = @KEY(v.queue)@ AND t.prio = 4
        AND t.rank IN (d.received_us, v.due_us) AND t.id = v.num) THEN 0
    WHEN EXISTS (SELECT 1 FROM task_lease t WHERE t.id = @KEY(v.num)@) THEN 0
    WHEN v.num IN (SELECT t.id FROM task_later t WHERE t.id > $1 AND t.id <= $2) THEN 0
    WHEN v.num IN (SELECT t.id FROM task_ready t WHERE t.queue > 1000 AND t.id > $1 AND t.id <= $2) THEN 0
    ELSE 1 END;

-- name: task_page
-- in:  $1 queue int, $2 prio int, $3 rank int, $4 id int, $5 limit int
-- out: @carried@
-- Ready tasks behind a place, and whether what they carry on is there and waits for it.
SELECT queue, prio, rank, id, CASE WHEN EXISTS (SELECT 1 FROM doc WHERE doc.num = @KEY(t.id)@) THEN 1
    WHEN EXISTS (SELECT 1 FROM delivery v WHERE v.num = @KEY(t.id)@ AND v.state IN (0, 3)) THEN 1
    WHEN kind = 3 AND EXISTS (SELECT 1 FROM job j WHERE j.num = @KEY(t.id)@ AND j.queue = t.queue AND j.due_us = t.rank) THEN 1 ELSE 0 END
FROM task_ready t WHERE (queue, prio, rank, id) > ($1, $2, $3, $4)
ORDER BY queue, prio, rank, id LIMIT $5;

-- name: task_later_page
-- in:  $1 due int, $2 id int, $3 limit int
-- out: @carried@
SELECT 0 AS queue, 0 AS prio, due_us AS rank, id, CASE WHEN EXISTS (SELECT 1 FROM doc WHERE doc.num = @KEY(t.id)@) THEN 1
    WHEN EXISTS (SELECT 1 FROM delivery v WHERE v.num = @KEY(t.id)@ AND v.state IN (0, 3)) THEN 1
    WHEN kind = 3 AND EXISTS (SELECT 1 FROM job j WHERE j.num = @KEY(t.id)@ AND j.queue = t.queue AND j.due_us = t.due_us) THEN 1 ELSE 0 END
FROM task_later t WHERE (due_us, id) > ($1, $2) ORDER BY due_us, id LIMIT $3;

-- name: task_dead_page
-- in:  $1 id int, $2 limit int
-- out: @carried@
SELECT 0 AS queue, 0 AS prio, 0 AS rank, id, CASE WHEN EXISTS (SELECT 1 FROM doc WHERE doc.num = @KEY(t.id)@) THEN 1
    WHEN EXISTS (SELECT 1 FROM delivery v WHERE v.num = @KEY(t.id)@ AND v.state IN (4, 6)) THEN 1 ELSE 0 END
FROM task_dead t WHERE id > $1 ORDER BY id LIMIT $2;

-- name: task_lease_page
-- in:  $1 id int, $2 limit int
-- out: @carried@
SELECT 0 AS queue, 0 AS prio, 0 AS rank, id, CASE WHEN EXISTS (SELECT 1 FROM doc WHERE doc.num = @KEY(t.id)@) THEN 1
    WHEN EXISTS (SELECT 1 FROM delivery v WHERE v.num = @KEY(t.id)@ AND v.state IN (0, 3)) THEN 1
    WHEN kind = 3 AND EXISTS (SELECT 1 FROM job j WHERE j.num = @KEY(t.id)@) THEN 1 ELSE 0 END
FROM task_lease t WHERE id > $1 ORDER BY id LIMIT $2;

-- name: config_blob_page
-- in:  $1 sha256 bytes
-- out: sha256, bytes
SELECT sha256, bytes FROM config_blob WHERE sha256 > $1 ORDER BY sha256 LIMIT 1;

-- name: config_file_lost
-- Files without a content, or of a version that is not there.
SELECT count(*) FROM config_file f WHERE NOT EXISTS (SELECT 1 FROM config_blob b WHERE b.sha256 = f.sha256)
    OR NOT EXISTS (SELECT 1 FROM config c WHERE c.version = f.version);
