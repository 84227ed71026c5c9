-- What a polling gateway remembers, and which rows it has taken (store/govern/gateway_state.h).

-- name: gateway_state_get
-- in:  $1 gateway int
SELECT state, version FROM gateway_state WHERE gateway = $1;

-- name: gateway_state_put
-- in:  $1 gateway int, $2 state text, $3 version int, $4 before int
-- Nothing when another state came in between; before 0: there was none.
INSERT INTO gateway_state(gateway, state, version, updated_us) VALUES ($1, $2, $3, @NOW_US@)
ON CONFLICT(gateway) DO UPDATE SET state = excluded.state, version = excluded.version, updated_us = excluded.updated_us
WHERE gateway_state.version = $4;

-- name: ledger_find_all
-- in:  $1 gateway int, $2 key bytes
-- batch
SELECT 1, seen_us FROM ledger WHERE gateway = $1 AND key = $2;

-- name: ledger_find_all
-- for: postgresql
-- in:  $1 gateway int, $2 key bytes
-- batch
SELECT u.at, l.seen_us FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS u(gateway, key, at)
JOIN ledger l ON l.gateway = @KEY(u.gateway)@ AND l.key = @KEY(u.key)@;

-- name: ledger_note_all
-- in:  $1 gateway int, $2 key bytes, $3 seen int
-- batch
INSERT INTO ledger(gateway, key, seen_us) VALUES ($1, $2, $3) ON CONFLICT (gateway, key) DO NOTHING;
