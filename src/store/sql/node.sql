-- Nodes: registration, heartbeat, the fence, dead nodes.

-- name: node_add
-- in:  $1 node int, $2 epoch int, $3 host text, $4 pid int, $5 area text, $6 address text, $7 ttl int
INSERT INTO node(node_id, epoch, host, pid, area, address, state, started_us, alive_until_us)
VALUES ($1, $2, $3, $4, $5, $6, 0, @NOW_US@, @NOW_US@ + $7);

-- name: node_name_add
-- in:  $1 node int, $2 name text
INSERT INTO node_name(node_id, name, started_us) VALUES ($1, $2, @NOW_US@);

-- name: node_name_get
-- in:  $1 node int
-- out: name
SELECT name FROM node_name WHERE node_id = $1;

-- name: node_name_forget
-- in:  $1 most int
-- All but the newest.
DELETE FROM node_name WHERE started_us < (SELECT started_us FROM node_name ORDER BY started_us DESC LIMIT 1 OFFSET $1);

-- name: node_beat
-- in:  $1 node int, $2 epoch int, $3 ttl int
UPDATE node SET alive_until_us = @NOW_US@ + $3 WHERE node_id = $1 AND epoch = $2 AND state = 0;

-- name: node_fence
-- only: sqlite
-- in:  $1 node int, $2 epoch int
-- Raises the number of the last commit (kernel/told.h); a row when the node may write.  The number is
-- a row of `tally`, because accept and settle write to that page anyway.
UPDATE tally SET n = n + 1 WHERE node_id = 0 AND writer = 0 AND kind = 64 AND word = 0
    AND EXISTS (SELECT 1 FROM node WHERE node_id = $1 AND epoch = $2 AND state = 0) RETURNING n;

-- name: commit_last
-- only: sqlite
SELECT n FROM tally WHERE node_id = 0 AND writer = 0 AND kind = 64 AND word = 0;

-- name: commit_raise
-- only: sqlite
-- in:  $1 commit int
UPDATE tally SET n = $1 WHERE node_id = 0 AND writer = 0 AND kind = 64 AND word = 0 AND n < $1;

-- name: doc_known
-- only: sqlite
-- in:  $1 num int
SELECT count(*) FROM doc WHERE num = $1;

-- name: caller_gateway
-- only: sqlite
-- in:  $1 id int
SELECT gateway FROM caller WHERE id = $1;

-- name: tally_accepted_by
-- in:  $1 node int, $2 writer int
-- Documents that a writer accepted; kind 1 is TALLY_ACCEPTED (road/accept.h).
SELECT CAST(coalesce(sum(n), 0) AS @INT@) FROM tally WHERE node_id = $1 AND writer = $2 AND kind = 1;

-- name: node_enter
-- only: postgresql
-- in:  $1 node int, $2 epoch int, $3 writer int, $4 token int
-- The fence.  Fails (division by zero) when the node may not write, so it can be pipelined
-- before the statements that it guards.  The row stays locked until commit: declaring the node
-- dead locks it too, so it never happens in the middle of a group.  The token shows afterwards
-- whether the group was committed.  The advisory lock hinders nobody: by it node_break finds the session.
WITH entered AS (UPDATE node_writer SET token = $4 WHERE node_id = $1 AND writer = $3 AND dead = 0
    AND EXISTS (SELECT 1 FROM node WHERE node_id = $1 AND epoch = $2 AND state = 0
                AND alive_until_us > @NOW_US@) RETURNING 1)
SELECT 1 / count(*), pg_try_advisory_xact_lock_shared(1852793957, ($1 % 2147483647)::int) FROM entered;

-- name: node_token
-- only: postgresql
-- in:  $1 node int, $2 writer int
-- Waits for a commit in progress.
SELECT token FROM node_writer WHERE node_id = $1 AND writer = $2 FOR UPDATE;

-- name: node_writer_add
-- only: postgresql
-- in:  $1 node int, $2 writer int
-- batch
INSERT INTO node_writer(node_id, writer, dead, token) VALUES ($1, $2, 0, 0);

-- name: node_writer_end
-- only: postgresql
-- in:  $1 node int
-- Waits for running groups of the node.
UPDATE node_writer SET dead = 1 WHERE node_id = $1;

-- name: node_writer_forget
-- only: postgresql
DELETE FROM node_writer w WHERE dead = 1 AND NOT EXISTS (SELECT 1 FROM node n WHERE n.node_id = w.node_id);

-- name: node_all
-- out: node_id, epoch, host, pid, area, address, state, started_us, alive_until_us, name
SELECT n.node_id, n.epoch, n.host, n.pid, n.area, n.address, n.state, n.started_us, n.alive_until_us, m.name
FROM node n LEFT JOIN node_name m ON m.node_id = n.node_id ORDER BY n.started_us;

-- name: node_silent
-- in:  $1 grace int, $2 self int
-- Other nodes whose heartbeat has expired, locked until commit.
SELECT node_id FROM node WHERE state = 0 AND node_id <> $2 AND alive_until_us < @NOW_US@ - $1 @SKIP_LOCKED@;

-- name: node_end
-- in:  $1 node int
UPDATE node SET state = 2 WHERE node_id = $1 AND state = 0;

-- name: node_end_idle
-- only: postgresql
-- in:  $1 node int
-- As node_end, but not while one of its groups runs.
WITH idle AS MATERIALIZED (SELECT 1 FROM node_writer WHERE node_id = $1 FOR UPDATE SKIP LOCKED)
UPDATE node SET state = 2 WHERE node_id = $1 AND state = 0
AND (SELECT count(*) FROM idle) = (SELECT count(*) FROM node_writer WHERE node_id = $1);

-- name: node_break
-- only: postgresql
-- in:  $1 node int
-- Ends the sessions in which a group of the node is open.
SELECT count(pg_terminate_backend(l.pid)) FROM pg_locks l
WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.classid = 1852793957
    AND l.objid = ($1 % 2147483647)::oid AND l.granted AND l.mode = 'ShareLock'
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- name: node_end_others
-- only: sqlite
-- in:  $1 node int
-- One process owns the file: every other registered node is dead.
UPDATE node SET state = 2 WHERE node_id <> $1 AND state = 0;

-- name: node_forget
-- Dead nodes without leases.
DELETE FROM node WHERE state = 2 AND NOT EXISTS (SELECT 1 FROM task_lease l WHERE l.node_id = node.node_id);
