-- Numbers of all nodes over a day (store/watch/chart.h).

-- name: chart_add
-- in:  $1 at int, $2 node int, $3 accepted int, $4 delivered int, $5 dead int, $6 retrying int, $7 waiting int
INSERT INTO chart(at_us, node_id, accepted, delivered, dead, retrying, waiting)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT(at_us, node_id) DO NOTHING;

-- name: chart_count_add
-- in:  $1 at int, $2 kind int, $3 one int, $4 two int, $5 node int, $6 n int
INSERT INTO chart_count(at_us, kind, one, two, node_id, n) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT(at_us, kind, one, two, node_id) DO UPDATE SET n = chart_count.n + $6;

-- name: chart_prune
-- in:  $1 before int
DELETE FROM chart WHERE at_us < $1;

-- name: chart_count_prune
-- in:  $1 before int
DELETE FROM chart_count WHERE at_us < $1;

-- name: chart_steps
-- in:  $1 from int, $2 to int, $3 step int, $4 limit int
-- out: at_us, accepted, delivered, dead, retrying, waiting
-- Steps of $3 microseconds, over all nodes.  All nodes count the same store, so what waits is not added up.
SELECT at_us / $3 * $3 AS at_us, CAST(sum(accepted) AS @INT@), CAST(sum(delivered) AS @INT@), CAST(sum(dead) AS @INT@),
    CAST(sum(retrying) AS @INT@), max(waiting)
FROM chart WHERE at_us >= $1 AND at_us < $2 GROUP BY at_us / $3 * $3 ORDER BY 1 LIMIT $4;

-- name: chart_others
-- in:  $1 from int, $2 to int, $3 node int, $4 limit int
-- out: kind, one, two, n
-- What other nodes than this counted in the minutes that began then.
SELECT kind, one, two, CAST(sum(n) AS @INT@) FROM chart_count WHERE at_us >= $1 AND at_us < $2 AND node_id <> $3
GROUP BY kind, one, two ORDER BY kind, one, two LIMIT $4;

-- name: chart_day
-- in:  $1 from int, $2 kind int, $3 limit int
-- out: kind, one, two, n
-- What all nodes counted since then.
SELECT kind, one, two, CAST(sum(n) AS @INT@) FROM chart_count WHERE at_us >= $1 AND kind >= $2
GROUP BY kind, one, two ORDER BY kind, one, two LIMIT $3;
