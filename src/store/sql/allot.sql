-- Slots of systems, allotted to nodes (store/govern/allot.h).

-- name: allot_lock
-- only: postgresql
-- in:  $1 system int
-- The system is ours until the commit.
INSERT INTO allot(system, node_id, n, wants) VALUES ($1, 0, 0, 0)
ON CONFLICT(system, node_id) DO UPDATE SET n = 0;

-- name: allot_others
-- only: postgresql
-- in:  $1 system int, $2 node int
-- What other nodes hold that were not declared dead.
SELECT CAST(coalesce(sum(a.n), 0) AS BIGINT) FROM allot a JOIN node n ON n.node_id = a.node_id AND n.state = 0
WHERE a.system = $1 AND a.node_id <> $2;

-- name: allot_put
-- only: postgresql
-- in:  $1 system int, $2 node int, $3 n int, $4 wants int
INSERT INTO allot(system, node_id, n, wants) VALUES ($1, $2, $3, $4)
ON CONFLICT(system, node_id) DO UPDATE SET n = $3, wants = $4;

-- name: allot_all
-- only: postgresql
-- in:  $1 node int, $2 limit int
-- out: system, total, wanting
-- By system: what live nodes hold, and how many other nodes want more.
SELECT a.system, CAST(sum(a.n) AS BIGINT), count(*) FILTER (WHERE a.wants = 1 AND a.node_id <> $1)
FROM allot a JOIN node n ON n.node_id = a.node_id AND n.state = 0
GROUP BY a.system ORDER BY a.system LIMIT $2;

-- name: allot_forget
-- only: postgresql
-- What dead nodes held.
DELETE FROM allot a WHERE a.node_id <> 0
AND (SELECT n.node_id FROM node n WHERE n.node_id = a.node_id AND n.state = 0) IS NULL;
