-- Polling gateways: which node polls, and the files that `after: keep` has accepted.

-- name: poll_turn_take
-- only: postgresql
-- in:  $1 gateway int, $2 node int, $3 lease int
-- Changes one row when this node gets the turn: it was free, expired, already ours, or that of a
-- dead or silent node (which cannot store anything any more).
INSERT INTO poll_turn(gateway, node_id, until_us) VALUES ($1, $2, @NOW_US@ + $3)
ON CONFLICT (gateway) DO UPDATE SET node_id = excluded.node_id, until_us = excluded.until_us
WHERE poll_turn.node_id = excluded.node_id OR poll_turn.until_us < @NOW_US@
   OR NOT EXISTS (SELECT 1 FROM node n WHERE n.node_id = poll_turn.node_id AND n.state = 0
                  AND n.alive_until_us > @NOW_US@);

-- name: poll_turn_drop
-- only: postgresql
-- in:  $1 gateway int, $2 node int
DELETE FROM poll_turn WHERE gateway = $1 AND node_id = $2;

-- name: ledger_find
-- in:  $1 gateway int, $2 key bytes
-- How long ago it was last noted, in microseconds.
SELECT @NOW_US@ - seen_us FROM ledger WHERE gateway = $1 AND key = $2;

-- name: ledger_note
-- in:  $1 gateway int, $2 key bytes
INSERT INTO ledger(gateway, key, seen_us) VALUES ($1, $2, @NOW_US@)
ON CONFLICT (gateway, key) DO UPDATE SET seen_us = excluded.seen_us;

-- name: ledger_forget
-- in:  $1 gateway int, $2 before int, $3 limit int
DELETE FROM ledger WHERE gateway = $1 AND key IN
    (SELECT key FROM ledger WHERE gateway = $1 AND seen_us < $2 LIMIT $3);

-- name: ledger_forget
-- for: postgresql
-- in:  $1 gateway int, $2 before int, $3 limit int
DELETE FROM ledger l
USING (SELECT key FROM ledger WHERE gateway = $1 AND seen_us < $2 LIMIT $3) AS old
WHERE l.gateway = $1 AND l.key = @KEY(old.key)@ AND l.seen_us < $2;
