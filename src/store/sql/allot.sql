-- Slots of systems, allotted to nodes (store/govern/allot.h).

-- name: allot_lock
-- only: postgresql
-- in:  $1 system int
-- The system is ours until the commit; the number of this request.
INSERT INTO allot(system, node_id, n, wants, turn) VALUES ($1, 0, 0, 0, 1)
ON CONFLICT(system, node_id) DO UPDATE SET turn = allot.turn + 1 RETURNING turn;

-- name: allot_others
-- only: postgresql
-- in:  $1 system int, $2 node int
-- out: held, before
-- What other nodes hold that were not declared dead; how many of them have none and wait for longer than this one, which
-- does not wait at all while it has some.
SELECT CAST(coalesce(sum(a.n), 0) AS BIGINT), count(*) FILTER (WHERE a.wants = 1 AND a.n = 0 AND a.turn < coalesce(
    (SELECT m.turn FROM allot m WHERE m.system = $1 AND m.node_id = $2 AND m.wants = 1 AND m.n = 0), a.turn + 1))
FROM allot a JOIN node n ON n.node_id = a.node_id AND n.state = 0
WHERE a.system = $1 AND a.node_id <> $2;

-- name: allot_put
-- only: postgresql
-- in:  $1 system int, $2 node int, $3 n int, $4 wants int, $5 turn int
-- A node that goes on waiting keeps its place.
INSERT INTO allot(system, node_id, n, wants, turn) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT(system, node_id) DO UPDATE SET n = $3, wants = $4,
    turn = CASE WHEN allot.n = 0 AND allot.wants = 1 AND $3 = 0 THEN allot.turn ELSE $5 END;

-- name: allot_all
-- only: postgresql
-- in:  $1 node int, $2 limit int
-- out: system, total, wanting, waiting
-- By system: what live nodes hold, how many other nodes want more, and how many of these have none.
SELECT a.system, CAST(sum(a.n) AS BIGINT), count(*) FILTER (WHERE a.wants = 1 AND a.node_id <> $1),
    count(*) FILTER (WHERE a.wants = 1 AND a.n = 0 AND a.node_id <> $1)
FROM allot a JOIN node n ON n.node_id = a.node_id AND n.state = 0
GROUP BY a.system ORDER BY a.system LIMIT $2;

-- name: allot_forget
-- only: postgresql
-- What dead nodes held.
DELETE FROM allot a WHERE a.node_id <> 0
AND (SELECT n.node_id FROM node n WHERE n.node_id = a.node_id AND n.state = 0) IS NULL;
