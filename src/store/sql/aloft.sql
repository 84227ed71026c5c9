-- Deliveries that nodes have in memory for long (store/road/aloft.h).

-- name: aloft_ready
-- only: sqlite
-- in:  $1 queue int, $2 prio int, $3 rank int, $4 id int
-- A row while the claimed task is not settled.
SELECT 1 FROM task_ready WHERE queue = $1 AND prio = $2 AND rank = $3 AND id = $4;

-- name: aloft_lease
-- only: postgresql
-- in:  $1 id int, $2 claim int
-- The same.  A lease that is locked is being settled, and needs no row any more; not waiting for it also excludes a
-- deadlock with a group that settles several.
SELECT 1 FROM task_lease WHERE id = $1 AND claim = $2 FOR UPDATE SKIP LOCKED;

-- name: aloft_put
-- in:  $1 doc int, $2 id text, $3 task int, $4 node int, $5 endpoint int, $6 system int, $7 sending int
INSERT INTO aloft(doc, id, task, node_id, endpoint, system, sending, since_us)
VALUES ($1, $2, $3, $4, $5, $6, $7, @NOW_US@)
ON CONFLICT(doc, id) DO UPDATE SET task = $3, node_id = $4, sending = $7;

-- name: aloft_drop
-- in:  $1 doc int, $2 task int
-- batch
DELETE FROM aloft WHERE doc = $1 AND task = $2;

-- name: aloft_drop
-- for: postgresql
-- in:  $1 doc int, $2 task int
-- batch
DELETE FROM aloft a USING @ROWS@ WHERE a.doc = @KEY(u.c1)@ AND a.task = u.c2;

-- name: aloft_forget
-- Those of nodes that are dead or unknown.
DELETE FROM aloft WHERE (SELECT n.node_id FROM node n WHERE n.node_id = aloft.node_id AND n.state = 0) IS NULL;

-- name: aloft_of_document
-- in:  $1 doc int, $2 limit int
-- out: id, endpoint, system, sending, since_us
SELECT id, endpoint, system, sending, since_us FROM aloft WHERE doc = $1 ORDER BY id LIMIT $2;

-- name: aloft_counts
-- in:  $1 node int, $2 limit int
-- out: system, endpoint, total, stored, sending_elsewhere, waiting_elsewhere
-- By system and endpoint: all; those that have a row of their own; those of other nodes than this.
SELECT system, endpoint, count(*), CAST(sum(CASE WHEN task <> doc THEN 1 ELSE 0 END) AS @INT@),
    CAST(sum(CASE WHEN node_id <> $1 AND sending = 1 THEN 1 ELSE 0 END) AS @INT@),
    CAST(sum(CASE WHEN node_id <> $1 AND sending = 0 THEN 1 ELSE 0 END) AS @INT@)
FROM aloft GROUP BY system, endpoint ORDER BY system, endpoint LIMIT $2;
