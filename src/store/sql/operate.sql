-- What people and endpoints bring about: breakers and pauses, mishaps.

-- name: endpoint_state_put
-- in:  $1 endpoint int, $2 breaker int, $3 node int, $4 since int, $5 until int, $6 message text
-- It has been so since the first who said it.
INSERT INTO endpoint_state(endpoint, breaker, node_id, since_us, until_us, message)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT(endpoint, breaker) DO UPDATE SET node_id = excluded.node_id, until_us = excluded.until_us,
    message = excluded.message;

-- name: endpoint_state_drop
-- in:  $1 endpoint int, $2 breaker int
DELETE FROM endpoint_state WHERE endpoint = $1 AND breaker = $2;

-- name: endpoint_state_all
-- in:  $1 limit int
SELECT endpoint, breaker, node_id, since_us, until_us, message FROM endpoint_state
ORDER BY endpoint, breaker LIMIT $1;

-- name: mishap_add
-- in:  $1 code text, $2 object text, $3 message text, $4 n int, $5 first int, $6 last int
INSERT INTO mishap(code, object, message, n, first_us, last_us) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT(code, object) DO UPDATE SET n = mishap.n + excluded.n, message = excluded.message,
    last_us = excluded.last_us;

-- name: mishap_prune
-- in:  $1 most int
-- The table is small: names come and go with configurations.
DELETE FROM mishap WHERE last_us < (SELECT last_us FROM mishap ORDER BY last_us DESC LIMIT 1 OFFSET $1);

-- name: mishap_all
-- in:  $1 limit int
SELECT code, object, message, n, first_us, last_us FROM mishap
ORDER BY last_us DESC, code, object LIMIT $1;
