-- Holds and pauses.

-- columns hold: num, system, from_us, until_us, reason, owner, made_us, reminded_us, ended_us, ended_by

-- name: hold_look
-- out: mark, now_us
-- How often holds and pauses were changed, and what time it is.
SELECT value AS mark, @NOW_US@ FROM mark WHERE name = 'hold';

-- name: hold_add
-- in:  $1 num int, $2 system int, $3 from int, $4 until int, $5 reason text, $6 owner text
-- from 0: the hold begins now.
INSERT INTO hold(num, system, from_us, until_us, reason, owner, made_us, reminded_us)
VALUES ($1, $2, CASE WHEN $3 = 0 THEN @NOW_US@ ELSE $3 END, $4, $5, $6, @NOW_US@, @NOW_US@);

-- name: hold_count
SELECT count(*) FROM hold WHERE ended_us = 0;

-- name: hold_end
-- in:  $1 num int, $2 by text
UPDATE hold SET ended_us = @NOW_US@, ended_by = $2 WHERE num = $1 AND ended_us = 0;

-- name: hold_expire
-- in:  $1 now int, $2 by text
UPDATE hold SET ended_us = until_us, ended_by = $2
WHERE ended_us = 0 AND until_us <> 0 AND until_us <= $1 RETURNING num;

-- name: hold_remind
-- in:  $1 now int, $2 before int
-- Holds without an end whose last reminder is older than $2.
UPDATE hold SET reminded_us = $1
WHERE ended_us = 0 AND until_us = 0 AND from_us <= $1 AND reminded_us <= $2 RETURNING num;

-- name: hold_forget
-- in:  $1 before int
-- Holds that ended before $1.
DELETE FROM hold WHERE ended_us <> 0 AND ended_us < $1;

-- name: hold_unsee
-- Acknowledgements of ended holds, and of deleted nodes.
DELETE FROM hold_seen WHERE NOT EXISTS (SELECT 1 FROM hold h WHERE h.num = hold_seen.hold AND h.ended_us = 0)
OR NOT EXISTS (SELECT 1 FROM node n WHERE n.node_id = hold_seen.node_id);

-- name: hold_open
-- in:  $1 limit int
-- out: @hold@
SELECT @hold@ FROM hold WHERE ended_us = 0 ORDER BY num LIMIT $1;

-- name: hold_all
-- in:  $1 limit int
-- out: @hold@
SELECT @hold@ FROM hold ORDER BY num DESC LIMIT $1;

-- name: hold_one
-- in:  $1 num int
-- out: @hold@
SELECT @hold@ FROM hold WHERE num = $1;

-- name: hold_see
-- in:  $1 hold int, $2 node int, $3 sending text
-- The first acknowledgement counts: it lists what the node was sending when it began to follow the hold.
INSERT INTO hold_seen(hold, node_id, sending) VALUES ($1, $2, $3)
ON CONFLICT(hold, node_id) DO NOTHING;

-- name: hold_sending
-- in:  $1 hold int
-- out: node_id, sending
SELECT node_id, sending FROM hold_seen WHERE hold = $1 ORDER BY node_id;

-- name: hold_blind
-- in:  $1 hold int, $2 limit int
-- Live nodes that do not follow the hold yet.
SELECT n.node_id FROM node n WHERE n.state = 0 AND n.alive_until_us > @NOW_US@
AND NOT EXISTS (SELECT 1 FROM hold_seen s WHERE s.hold = $1 AND s.node_id = n.node_id)
ORDER BY n.node_id LIMIT $2;

-- name: hold_blind
-- for: sqlite
-- in:  $1 hold int, $2 limit int
-- SQLite has one process, without a heartbeat.
SELECT n.node_id FROM node n WHERE n.state = 0
AND NOT EXISTS (SELECT 1 FROM hold_seen s WHERE s.hold = $1 AND s.node_id = n.node_id)
ORDER BY n.node_id LIMIT $2;

-- name: pause_put
-- in:  $1 node int, $2 what int, $3 reason text, $4 by text
INSERT INTO pause(node_id, what, reason, made_by, made_us) VALUES ($1, $2, $3, $4, @NOW_US@)
ON CONFLICT(node_id, what) DO UPDATE SET reason = excluded.reason, made_by = excluded.made_by;

-- name: pause_drop
-- in:  $1 node int, $2 what int
-- node 0: the pauses of single nodes, too.
DELETE FROM pause WHERE (node_id = $1 OR $1 = 0) AND what = $2;

-- name: pause_all
-- in:  $1 limit int
-- out: node_id, what, reason, made_by, made_us
SELECT node_id, what, reason, made_by, made_us FROM pause ORDER BY node_id, what LIMIT $1;

-- name: pause_inherit
-- in:  $1 from int, $2 to int
-- A restarted node keeps the pauses of its predecessor.
UPDATE pause SET node_id = $2 WHERE node_id = $1;

-- name: pause_forget
-- in:  $1 age int
-- Pauses of deleted nodes, after a grace time: a node that is down for a while keeps its pauses.
DELETE FROM pause WHERE node_id <> 0 AND made_us < @NOW_US@ - $1
AND NOT EXISTS (SELECT 1 FROM node n WHERE n.node_id = pause.node_id);
