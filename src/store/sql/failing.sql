-- Gateways and endpoints that a node cannot run now.

-- name: failing_put
-- in:  $1 word int, $2 node int, $3 message text
-- An existing row keeps its since_us.
INSERT INTO failing(word, node_id, since_us, message) VALUES ($1, $2, @NOW_US@, $3)
ON CONFLICT (word, node_id) DO UPDATE SET message = excluded.message;

-- name: failing_drop
-- in:  $1 word int, $2 node int
DELETE FROM failing WHERE word = $1 AND node_id = $2;

-- name: failing_all
-- in:  $1 limit int
-- out: word, node_id, since_us, message, host
-- Of nodes that run.
SELECT f.word, f.node_id, f.since_us, f.message, n.host FROM failing f
JOIN node n ON n.node_id = f.node_id AND n.state = 0 ORDER BY f.word, f.node_id LIMIT $1;

-- name: failing_forget
-- Rows of deleted nodes.
DELETE FROM failing WHERE NOT EXISTS (SELECT 1 FROM node n WHERE n.node_id = failing.node_id AND n.state = 0);
