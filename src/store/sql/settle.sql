-- Commit 2: the outcome of a task.  Numeric delivery states as in core/state.h:
-- 0 ready, 3 retrying, 4 in doubt, 5 delivered, 6 dead, 7 cancelled.

-- name: settle_ready_drop
-- only: sqlite
-- in:  $1 queue int, $2 prio int, $3 rank int, $4 id int
DELETE FROM task_ready WHERE queue = $1 AND prio = $2 AND rank = $3 AND id = $4;

-- name: settle_lease_drop
-- only: postgresql
-- in:  $1 id int, $2 claim int
-- batch
-- for: postgresql
-- Which of the claims were still ours.
DELETE FROM task_lease l USING unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS u(id, claim, at)
WHERE l.id = @KEY(u.id)@ AND l.claim = u.claim RETURNING u.at;

-- name: settle_over
-- in:  $1 num int, $2 state int, $3 found int, $4 sender int, $5 receiver int, $6 dtype int, $7 route int,
--      $8 facts bytes, $9 config int, $10 trail bytes
-- batch
-- found 0: what the row has stays; config 0: the same.  The row of doc goes with doc_drop.
INSERT INTO done_@SLOT@(@done@)
SELECT num, id, gateway, caller, CASE WHEN $9 = 0 THEN config ELSE $9 END, received_us, size, sha256, seg, pos,
    name, ctype, head,
    CASE WHEN $3 = 1 THEN $4 ELSE sender END, CASE WHEN $3 = 1 THEN $5 ELSE receiver END,
    CASE WHEN $3 = 1 THEN $6 ELSE dtype END, CASE WHEN $3 = 1 THEN $7 ELSE route END, again,
    CASE WHEN $3 = 1 THEN $8 ELSE facts END,
    CASE WHEN trail IS NULL THEN $10 WHEN $10 IS NULL OR length(trail) + length($10) > 262144 THEN trail
         ELSE CAST(trail || $10 AS BLOB) END, $2, @NOW_US@
FROM doc WHERE num = $1;

-- name: settle_over
-- for: postgresql
-- in:  $1 num int, $2 state int, $3 found int, $4 sender int, $5 receiver int, $6 dtype int, $7 route int,
--      $8 facts bytes, $9 config int, $10 trail bytes
-- batch
-- Also deletes the row of doc.
WITH gone AS (DELETE FROM doc USING @ROWS@ WHERE doc.num = @KEY(u.c1)@ RETURNING doc.*, u.*)
INSERT INTO done_@SLOT@(@done@)
SELECT num, id, gateway, caller, CASE WHEN c9 = 0 THEN config ELSE c9 END, received_us, size, sha256, seg, pos,
    name, ctype, head,
    CASE WHEN c3 = 1 THEN c4 ELSE sender END, CASE WHEN c3 = 1 THEN c5 ELSE receiver END,
    CASE WHEN c3 = 1 THEN c6 ELSE dtype END, CASE WHEN c3 = 1 THEN c7 ELSE route END, again,
    CASE WHEN c3 = 1 THEN c8 ELSE facts END,
    CASE WHEN trail IS NULL THEN c10 WHEN c10 IS NULL OR length(trail) + length(c10) > 262144 THEN trail
         ELSE trail || c10 END, c2, @NOW_US@
FROM gone;

-- name: settle_found
-- in:  $1 num int, $2 found int, $3 sender int, $4 receiver int, $5 dtype int, $6 route int, $7 facts bytes,
--      $8 config int, $9 trail bytes
-- batch
-- The document stays live: stores the results of a run.
UPDATE doc SET
    sender = CASE WHEN $2 = 1 THEN $3 ELSE sender END, receiver = CASE WHEN $2 = 1 THEN $4 ELSE receiver END,
    dtype = CASE WHEN $2 = 1 THEN $5 ELSE dtype END, route = CASE WHEN $2 = 1 THEN $6 ELSE route END,
    facts = CASE WHEN $2 = 1 THEN $7 ELSE facts END, config = CASE WHEN $8 = 0 THEN config ELSE $8 END,
    trail = CASE WHEN trail IS NULL THEN $9 WHEN $9 IS NULL OR length(trail) + length($9) > 262144 THEN trail
                 ELSE CAST(trail || $9 AS BLOB) END,
    updated_us = @NOW_US@
WHERE num = $1;

-- name: settle_found
-- for: postgresql
-- in:  $1 num int, $2 found int, $3 sender int, $4 receiver int, $5 dtype int, $6 route int, $7 facts bytes,
--      $8 config int, $9 trail bytes
-- batch
UPDATE doc SET
    sender = CASE WHEN c2 = 1 THEN c3 ELSE sender END, receiver = CASE WHEN c2 = 1 THEN c4 ELSE receiver END,
    dtype = CASE WHEN c2 = 1 THEN c5 ELSE dtype END, route = CASE WHEN c2 = 1 THEN c6 ELSE route END,
    facts = CASE WHEN c2 = 1 THEN c7 ELSE facts END, config = CASE WHEN c8 = 0 THEN config ELSE c8 END,
    trail = CASE WHEN trail IS NULL THEN c9 WHEN c9 IS NULL OR length(trail) + length(c9) > 262144 THEN trail
                 ELSE trail || c9 END,
    updated_us = @NOW_US@
FROM @ROWS@ WHERE num = @KEY(c1)@;

-- name: settle_trail
-- in:  $1 num int, $2 trail bytes
-- batch
-- Timeline lines of a delivery; several in one group may belong to one document.
UPDATE doc SET
    trail = CASE WHEN trail IS NULL THEN $2 WHEN $2 IS NULL OR length(trail) + length($2) > 262144 THEN trail
                 ELSE CAST(trail || $2 AS BLOB) END,
    updated_us = @NOW_US@
WHERE num = $1;

-- name: settle_trail
-- for: postgresql
-- in:  $1 num int, $2 trail bytes
-- batch
UPDATE doc SET
    trail = CASE WHEN trail IS NULL THEN added WHEN added IS NULL OR length(trail) + length(added) > 262144 THEN trail
                 ELSE trail || added END,
    updated_us = @NOW_US@
FROM (SELECT c1, string_agg(c2, ''::bytea ORDER BY at) AS added
      FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS u(c1, c2, at) GROUP BY c1) AS lines
WHERE num = @KEY(c1)@;

-- name: settle_trim_read
-- in:  $1 num int
-- A timeline that is full, to be trimmed (core/timeline.h).
SELECT trail FROM doc WHERE num = $1 @FOR_UPDATE@;

-- name: settle_trim
-- in:  $1 num int, $2 trail bytes
UPDATE doc SET trail = $2 WHERE num = $1;

-- name: settle_ids
-- in:  $1 num int
-- batch
-- out: which, id
SELECT 1, id FROM doc WHERE num = $1;

-- name: settle_ids
-- for: postgresql
-- in:  $1 num int
-- batch
SELECT u.at, d.id FROM unnest($1::bigint[]) WITH ORDINALITY AS u(num, at) JOIN doc d ON d.num = @KEY(u.num)@;

-- name: settle_states
-- in:  $1 num int, $2 doc int
-- batch
-- out: which, state, is_alone
-- is_alone is 1 when its document has no other delivery.
SELECT 1, state, (SELECT count(*) FROM (SELECT 1 FROM delivery WHERE doc = $2 LIMIT 2)) = 1
FROM delivery WHERE num = $1 AND doc = $2;

-- name: settle_states
-- for: postgresql
-- in:  $1 num int, $2 doc int
-- batch
-- Documents with several deliveries are locked first, in a fixed order: of two deliveries that end
-- concurrently the second sees the first.
WITH asked AS MATERIALIZED (SELECT u.num, u.doc, u.at,
        (SELECT count(*) FROM (SELECT 1 FROM delivery x WHERE x.doc = u.doc LIMIT 2) AS two) AS n
    FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS u(num, doc, at)),
held AS MATERIALIZED (SELECT num FROM doc WHERE num = ANY (ARRAY(SELECT doc FROM asked WHERE n > 1))
    ORDER BY num FOR UPDATE)
SELECT a.at AS which, v.state, CASE WHEN a.n = 1 THEN 1::bigint ELSE 0::bigint END FROM asked a
JOIN delivery v ON v.num = @KEY(a.num)@ AND v.doc + 0 = a.doc
WHERE (SELECT d.num FROM doc d WHERE d.num = a.doc) IS NOT NULL AND (a.n = 1 OR a.doc IN (SELECT h.num FROM held h));

-- name: settle_open
-- in:  $1 doc int
-- batch
-- out: which, open, delivered
-- How many deliveries of a document are not over, how many were delivered.
SELECT 1, coalesce(sum(state NOT IN (5, 7)), 0), coalesce(sum(state = 5), 0) FROM delivery WHERE doc = $1;

-- name: settle_open
-- for: postgresql
-- in:  $1 doc int
-- batch
SELECT u.at, count(v.num) FILTER (WHERE v.state NOT IN (5, 7)), count(v.num) FILTER (WHERE v.state = 5)
FROM unnest($1::bigint[]) WITH ORDINALITY AS u(doc, at) LEFT JOIN delivery v ON v.doc = @KEY(u.doc)@ GROUP BY u.at;

-- name: delivery_add
-- in:  $1 num int, $2 doc int, $3 id text, $4 endpoint int, $5 system int, $6 queue int, $7 state int,
--      $8 attempts int, $9 first int, $10 due int, $11 code text, $12 message text, $13 name text,
--      $14 status int, $15 seg int, $16 pos int, $17 payload int, $18 size int, $19 sha256 bytes,
--      $20 expires int, $21 lane int, $22 seq int, $23 child int, $24 turn int, $25 prio int
-- batch
INSERT INTO delivery(num, doc, id, endpoint, system, queue, state, attempts, first_us, due_us, updated_us, code,
    message, name, status, b_seg, b_pos, b_num, b_size, b_sha256, expires_us, lane, seq, child, turn, prio)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, @NOW_US@, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
    $21, $22, $23, $24, $25);

-- name: delivery_move
-- in:  $1 num int, $2 queue int, $3 state int, $4 attempts int, $5 first int, $6 due int, $7 code text,
--      $8 message text, $9 name text, $10 status int, $11 intent int, $12 asked int, $13 aside int
-- batch
-- An ended delivery leaves its lane; so does a dead one with `on_dead: skip` (aside 1).
UPDATE delivery SET queue = $2, state = $3, attempts = $4, first_us = $5, due_us = $6, code = $7, message = $8,
    name = coalesce($9, name), status = $10, intent_us = $11, asked = $12, updated_us = @NOW_US@,
    expires_us = CASE WHEN $3 IN (0, 3) THEN expires_us ELSE 0 END,
    turn = CASE WHEN $3 IN (5, 7) OR $13 = 1 THEN 0 ELSE turn END
WHERE num = $1;

-- name: delivery_move
-- for: postgresql
-- in:  $1 num int, $2 queue int, $3 state int, $4 attempts int, $5 first int, $6 due int, $7 code text,
--      $8 message text, $9 name text, $10 status int, $11 intent int, $12 asked int, $13 aside int
-- batch
UPDATE delivery SET queue = c2, state = c3, attempts = c4, first_us = c5, due_us = c6, code = c7, message = c8,
    name = coalesce(c9, name), status = c10, intent_us = c11, asked = c12, updated_us = @NOW_US@,
    expires_us = CASE WHEN c3 IN (0, 3) THEN expires_us ELSE 0 END,
    turn = CASE WHEN c3 IN (5, 7) OR c13 = 1 THEN 0 ELSE turn END
FROM @ROWS@ WHERE num = @KEY(c1)@;

-- name: delivery_drop
-- in:  $1 doc int
-- batch
-- Deliveries of ended documents.
DELETE FROM delivery WHERE doc = $1;

-- name: delivery_drop
-- for: postgresql
-- in:  $1 doc int
-- batch
DELETE FROM delivery WHERE doc = ANY ($1::bigint[]);

-- name: delivery_poison
-- in:  $1 num int, $2 message text
UPDATE delivery SET state = 6, code = 'poison', message = $2, intent_us = 0, asked = 0, expires_us = 0,
    updated_us = @NOW_US@
WHERE num = $1;

-- name: facet_found
-- only: sqlite
-- in:  $1 num int, $2 sender int, $3 receiver int, $4 dtype int
-- Adds facets to a document that the index watermark has already passed.
INSERT OR IGNORE INTO facet(key)
SELECT (column1 << 60) + (column2 << 40) + $1 FROM (VALUES (5, $2), (6, $3), (7, $4)) WHERE column2 <> 0;

-- name: done_top
-- The highest number in it.
SELECT max(num) FROM done_@SLOT@;

-- name: queues_with_work
-- in:  $1 above int, $2 limit int
WITH RECURSIVE q(queue) AS (
    SELECT (SELECT queue FROM task_ready WHERE queue > $1 ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT t.queue FROM task_ready t WHERE t.queue > q.queue ORDER BY t.queue LIMIT 1)
    FROM q WHERE q.queue IS NOT NULL)
SELECT queue FROM q WHERE queue IS NOT NULL LIMIT $2;

-- name: queue_depths
-- in:  $1 above int, $2 limit int
-- out: queue, ready, later
SELECT queue, CAST(sum(ready) AS @INT@), CAST(sum(later) AS @INT@) FROM (
    SELECT queue, count(*) AS ready, 0 AS later FROM task_ready WHERE queue > $1 GROUP BY queue
    UNION ALL
    SELECT queue, 0, count(*) FROM task_later WHERE queue > $1 GROUP BY queue
    UNION ALL
    SELECT queue, count(*), 0 FROM delivery WHERE turn > 0 AND turn = 1 AND queue > $1 GROUP BY queue) AS lanes
GROUP BY queue ORDER BY queue LIMIT $2;
