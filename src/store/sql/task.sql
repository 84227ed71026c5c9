-- Tasks.  On SQLite a claim is a mark in memory: the row stays in task_ready and
-- its whole key names it.  On PostgreSQL a claim moves the row to task_lease.

-- columns task: id, claim, until_us, queue, prio, rank, kind, attempts, rescues, crashes

-- name: task_window
-- only: sqlite
-- in:  $1 queue int, $2 prio int, $3 rank int, $4 id int, $5 limit int
-- out: @task@
-- The next tasks of a queue after a place.
SELECT id, 0 AS claim, 0 AS until_us, queue, prio, rank, kind, attempts, rescues, crashes FROM task_ready
WHERE queue = $1 AND (prio, rank, id) > ($2, $3, $4) ORDER BY prio, rank, id LIMIT $5;

-- name: task_is_there
-- only: sqlite
-- in:  $1 queue int, $2 prio int, $3 rank int, $4 id int
SELECT 1 FROM task_ready WHERE queue = $1 AND prio = $2 AND rank = $3 AND id = $4;

-- name: task_is_leased
-- only: postgresql
-- in:  $1 id int, $2 claim int
-- The claim holds, and nobody takes it over until the commit.
SELECT 1 FROM task_lease WHERE id = $1 AND claim = $2 FOR UPDATE;

-- name: task_ready_take
-- in:  $1 queue int, $2 prio int, $3 rank int, $4 id int
-- out: @task@
-- A row when it was there.
DELETE FROM task_ready WHERE queue = $1 AND prio = $2 AND rank = $3 AND id = $4
RETURNING id, 0 AS claim, 0 AS until_us, queue, prio, rank, kind, attempts, rescues, crashes;

-- name: task_ready_put
-- in:  $1 queue int, $2 prio int, $3 rank int, $4 id int, $5 kind int, $6 attempts int, $7 rescues int, $8 crashes int
-- batch
INSERT INTO task_ready(queue, prio, rank, id, kind, attempts, rescues, crashes)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: task_later_put
-- in:  $1 due int, $2 id int, $3 queue int, $4 prio int, $5 kind int, $6 attempts int, $7 rescues int, $8 crashes int, $9 error text
-- batch
INSERT INTO task_later(due_us, id, queue, prio, kind, attempts, rescues, crashes, error)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: task_dead_put
-- in:  $1 id int, $2 queue int, $3 prio int, $4 kind int, $5 code text, $6 message text, $7 attempts int, $8 rescues int, $9 crashes int
-- batch
INSERT INTO task_dead(id, queue, prio, kind, died_us, code, message, attempts, rescues, crashes, doc)
VALUES ($1, $2, $3, $4, @NOW_US@, $5, $6, $7, $8, $9, coalesce((SELECT v.doc FROM delivery v WHERE v.num = $1), $1));

-- name: task_claim
-- only: postgresql
-- in:  $1 queue int, $2 limit int, $3 node int, $4 lease int
-- out: @task@
-- Deletes by ctid: rows here are never updated, so the place is exact.
WITH c AS MATERIALIZED (SELECT ctid AS t FROM task_ready WHERE queue = $1
        ORDER BY queue, prio, rank, id LIMIT $2 FOR UPDATE SKIP LOCKED),
d AS (DELETE FROM task_ready r WHERE r.ctid = ANY (ARRAY(SELECT t FROM c)) RETURNING r.*),
k AS MATERIALIZED (SELECT nextval('claim_number') AS value)
INSERT INTO task_lease(id, claim, node_id, until_us, queue, prio, rank, kind, attempts, rescues, crashes)
SELECT d.id, k.value, $3, @NOW_US@ + $4, d.queue, d.prio, d.rank, d.kind, d.attempts + 1, d.rescues, d.crashes
FROM d, k RETURNING @task@;

-- name: task_claim_over
-- only: postgresql
-- in:  $1 id int, $2 claim int, $3 kind int, $4 node int, $5 lease int
-- out: @task@
-- A row when the claim held: another node has it from now on, under a new number.
UPDATE task_lease SET claim = nextval('claim_number'), node_id = $4, until_us = @NOW_US@ + $5
WHERE id = $1 AND claim = $2 AND kind = $3 RETURNING @task@;

-- name: task_claim_kinds
-- only: postgresql
-- in:  $1 queue int, $2 limit int, $3 node int, $4 lease int, $5 kinds text
-- out: @task@
-- The same for tokens of jobs of some kinds, each between commas.
WITH c AS MATERIALIZED (SELECT r.ctid AS t FROM task_ready r WHERE r.queue = $1
        AND strpos($5, (SELECT ',' || j.kind || ',' FROM job j WHERE j.num = @KEY(r.id)@)) > 0
        ORDER BY r.queue, r.prio, r.rank, r.id LIMIT $2 FOR UPDATE OF r SKIP LOCKED),
d AS (DELETE FROM task_ready r WHERE r.ctid = ANY (ARRAY(SELECT t FROM c)) RETURNING r.*),
k AS MATERIALIZED (SELECT nextval('claim_number') AS value)
INSERT INTO task_lease(id, claim, node_id, until_us, queue, prio, rank, kind, attempts, rescues, crashes)
SELECT d.id, k.value, $3, @NOW_US@ + $4, d.queue, d.prio, d.rank, d.kind, d.attempts + 1, d.rescues, d.crashes
FROM d, k RETURNING @task@;

-- name: task_lease_take
-- only: postgresql
-- in:  $1 id int, $2 claim int
-- out: @task@
-- A row when the claim was still ours.
DELETE FROM task_lease WHERE id = $1 AND claim = $2
RETURNING @task@;

-- name: task_unclaim
-- only: postgresql
-- in:  $1 id int, $2 claim int
-- Releases an unused claim; it counts as no attempt.
WITH gone AS (DELETE FROM task_lease WHERE id = $1 AND claim = $2
    RETURNING queue, prio, rank, id, kind, attempts, rescues, crashes)
INSERT INTO task_ready(queue, prio, rank, id, kind, attempts, rescues, crashes)
SELECT queue, prio, rank, id, kind, attempts - 1, rescues, crashes FROM gone;

-- name: task_due
-- in:  $1 now int, $2 limit int
-- out: @task@
SELECT id, 0 AS claim, due_us AS until_us, queue, prio, due_us AS rank, kind, attempts, rescues, crashes FROM task_later
WHERE due_us <= $1 ORDER BY due_us, id LIMIT $2 @SKIP_LOCKED@;

-- name: task_later_drop
-- in:  $1 due int, $2 id int
DELETE FROM task_later WHERE due_us = $1 AND id = $2;

-- name: task_next_due
SELECT (SELECT due_us FROM task_later ORDER BY due_us LIMIT 1);

-- name: task_orphans
-- only: postgresql
-- in:  $1 limit int
-- out: @task@
-- Leases of nodes that are dead or unknown.  However old: while its node lives, a task may be on its way.
SELECT l.id, l.claim, l.until_us, l.queue, l.prio, l.rank, l.kind, l.attempts, l.rescues + 1, l.crashes
FROM task_lease l LEFT JOIN node n ON n.node_id = l.node_id
WHERE n.node_id IS NULL OR n.state = 2
LIMIT $1 FOR UPDATE OF l SKIP LOCKED;

-- name: task_overdue
-- only: postgresql
-- in:  $1 limit int
-- out: queue, node_id, total, over_us, doc
-- Leases that live nodes hold past their deadline (store/road/overdue.h).
SELECT queue, node_id, count(*), @NOW_US@ - min(until_us), coalesce((SELECT v.doc FROM delivery v WHERE v.num = min(l.id)), min(l.id))
FROM task_lease l WHERE until_us < @NOW_US@ AND queue > 0 AND EXISTS (SELECT 1 FROM node n WHERE n.node_id = l.node_id AND n.state = 0)
GROUP BY queue, node_id ORDER BY min(until_us) LIMIT $1;

-- name: task_document
-- only: sqlite
-- in:  $1 id int
-- The document of a task.
SELECT coalesce((SELECT v.doc FROM delivery v WHERE v.num = $1), $1);

-- name: task_take_over
-- only: postgresql
-- in:  $1 node int
WITH gone AS (DELETE FROM task_lease WHERE node_id = $1
    RETURNING queue, prio, rank, id, kind, attempts, rescues, crashes)
INSERT INTO task_ready(queue, prio, rank, id, kind, attempts, rescues, crashes)
SELECT queue, prio, rank, id, kind, attempts, rescues + 1, crashes FROM gone;

-- name: task_queues
-- in:  $1 limit int
-- out: queue, waiting, oldest_us
-- How many wait, since when the first of those that could go.  Jobs, whose queues are below 0, are no backlog.
SELECT queue, CAST(sum(n) AS BIGINT), min(since) FROM (
    SELECT queue, count(*) AS n, min(rank) AS since FROM task_ready WHERE queue > 0 GROUP BY queue
    UNION ALL SELECT queue, count(*), min(CASE WHEN due_us < @NOW_US@ THEN due_us END) FROM task_later WHERE queue > 0 GROUP BY queue
    UNION ALL SELECT queue, count(*), NULL FROM delivery WHERE turn > 0 AND turn = 1 GROUP BY queue) AS q
GROUP BY queue ORDER BY queue LIMIT $1;

-- name: task_unrouted
-- in:  $1 queue int, $2 gateway int, $3 limit int
-- Documents of a gateway that wait to be routed, at most $3 of each table.
SELECT (SELECT count(*) FROM (SELECT 1 AS one FROM task_ready t JOIN doc d ON d.num = t.id
                              WHERE t.queue = $1 AND d.gateway = $2 LIMIT $3) AS ready)
     + (SELECT count(*) FROM (SELECT 1 AS one FROM task_later t JOIN doc d ON d.num = t.id
                              WHERE t.queue = $1 AND d.gateway = $2 LIMIT $3) AS later);

-- name: task_dead_sum
-- out: waiting, oldest_us
-- How many wait for a person, since when.
-- A batch that could not be built is one of them, as its document would be, whatever members it has.
SELECT CAST(sum(n) AS BIGINT), coalesce(min(since), 0) FROM (
    SELECT count(*) AS n, min(died_us) AS since FROM task_dead
    UNION ALL SELECT count(*), min(closed_us) FROM batch WHERE state = 1 AND code <> '') AS d;
