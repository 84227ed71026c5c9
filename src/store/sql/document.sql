-- Reading documents, and ending them.  A live document is in doc, an ended one in
-- the table of the day on which it may be purged: done_DAY.

-- columns doc: num, id, gateway, caller, config, received_us, size, sha256, seg, pos, name, ctype, head,
--      sender, receiver, dtype, route, again, facts, trail
-- columns done: @doc@, state, ended_us

-- name: doc_get
-- in:  $1 num int
-- out: @doc@, updated_us, delivery_states, dead_code, dead_message, trouble_code, trouble_message, seq, child, retry
-- The states of its deliveries as bits; dead_* of a dead letter, trouble_* of a delivery that has trouble; seq and child
-- are its place in the order of acceptance; retry: why its run is tried again later, NULL: it is not.
SELECT @doc@, updated_us,
       (SELECT sum(DISTINCT 1 << v.state) FROM delivery v WHERE v.doc = d.num),
       (SELECT t.code FROM task_dead t WHERE t.id = d.num),
       (SELECT t.message FROM task_dead t WHERE t.id = d.num),
       (SELECT v.code FROM delivery v WHERE v.doc = d.num AND v.code IS NOT NULL AND v.state NOT IN (5, 7)
        ORDER BY v.state = 6 DESC, v.num LIMIT 1),
       (SELECT v.message FROM delivery v WHERE v.doc = d.num AND v.code IS NOT NULL AND v.state NOT IN (5, 7)
        ORDER BY v.state = 6 DESC, v.num LIMIT 1), seq, child,
       (SELECT coalesce(t.error, '') FROM task_later t INDEXED BY task_later_run
        WHERE -t.id = -d.num AND t.kind = 1 AND t.attempts > 0)
FROM doc d WHERE num = $1;

-- name: doc_get
-- for: postgresql
-- in:  $1 num int
SELECT @d.doc@, updated_us,
       (SELECT bit_or(1::bigint << v.state::int) FROM delivery v WHERE v.doc = d.num),
       t.code AS dead_code, t.message AS dead_message, w.code AS trouble_code, w.message AS trouble_message, seq, child,
       (SELECT coalesce(r.error, '') FROM task_later r WHERE -r.id = -d.num AND r.kind = 1 AND r.attempts > 0) AS retry
FROM doc d LEFT JOIN task_dead t ON t.id = d.num
LEFT JOIN LATERAL (SELECT v.code, v.message FROM delivery v WHERE v.doc = d.num AND v.code IS NOT NULL
    AND v.state NOT IN (5, 7) ORDER BY v.state = 6 DESC, v.num LIMIT 1) w ON true
WHERE d.num = $1;

-- name: doc_find
-- in:  $1 num int
-- batch
-- out: which, @doc@, seq, child
-- What the rows of live documents have, without the states of their deliveries.
SELECT 1, @doc@, seq, child FROM doc WHERE num = $1;

-- name: doc_find
-- for: postgresql
-- in:  $1 num int
-- batch
SELECT u.at, @d.doc@, d.seq, d.child FROM unnest($1::bigint[]) WITH ORDINALITY AS u(num, at)
JOIN doc d ON d.num = @KEY(u.num)@;

-- name: doc_stand
-- in:  $1 num int
-- batch
-- out: which, has_end, seq
-- Its number in the sequence is not used: without it PostgreSQL reads the whole index instead of looking each one up.
-- Live documents; has_end: one of its deliveries is over (5 delivered, 6 dead, 7 cancelled), or it is a dead letter.
SELECT 1, EXISTS (SELECT 1 FROM delivery v WHERE v.doc = d.num AND v.state IN (5, 6, 7))
       OR EXISTS (SELECT 1 FROM task_dead t WHERE t.id = d.num), seq
FROM doc d WHERE num = $1;

-- name: doc_stand
-- for: postgresql
-- in:  $1 num int
-- batch
SELECT u.at, (EXISTS (SELECT 1 FROM delivery v WHERE v.doc = d.num AND v.state IN (5, 6, 7))
       OR EXISTS (SELECT 1 FROM task_dead t WHERE t.id = d.num))::int::bigint, d.seq
FROM unnest($1::bigint[]) WITH ORDINALITY AS u(num, at) JOIN doc d ON d.num = @KEY(u.num)@;

-- name: done_get
-- in:  $1 num int
-- out: @done@
SELECT @done@ FROM done_@SLOT@ WHERE num = $1;

-- name: done_make
CREATE TABLE IF NOT EXISTS done_@SLOT@(
    num @ROWKEY@, id @BYTES@ NOT NULL, gateway @INT@ NOT NULL, caller @INT@ NOT NULL,
    config @INT@ NOT NULL, received_us @INT@ NOT NULL, size @INT@ NOT NULL,
    sha256 @BYTES@ NOT NULL, seg @INT@ NOT NULL, pos @INT@ NOT NULL,
    name TEXT, ctype TEXT, head @BYTES@, state @INT@ NOT NULL, ended_us @INT@ NOT NULL,
    sender @INT@ NOT NULL, receiver @INT@ NOT NULL, dtype @INT@ NOT NULL, route @INT@ NOT NULL,
    again @INT@ NOT NULL, facts @BYTES@, trail @BYTES@) @PLAIN@;

-- name: done_index
-- only: postgresql
CREATE INDEX IF NOT EXISTS done_@SLOT@_by_gateway ON done_@SLOT@(gateway, num);

-- name: done_index_sender
-- only: postgresql
CREATE INDEX IF NOT EXISTS done_@SLOT@_by_sender ON done_@SLOT@(sender, num) WHERE sender <> 0;

-- name: done_index_receiver
-- only: postgresql
CREATE INDEX IF NOT EXISTS done_@SLOT@_by_receiver ON done_@SLOT@(receiver, num) WHERE receiver <> 0;

-- name: done_index_type
-- only: postgresql
CREATE INDEX IF NOT EXISTS done_@SLOT@_by_type ON done_@SLOT@(dtype, num) WHERE dtype <> 0;

-- name: done_index_size
-- only: postgresql
-- Size class and number in one expression, because only the first column bounds a backward scan.  The plain columns
-- are included: PostgreSQL makes no index-only scan from an expression alone.
CREATE INDEX IF NOT EXISTS done_@SLOT@_by_size
ON done_@SLOT@(((floor(ln(size::float8 + 1) * 8)::bigint << 40) + num)) INCLUDE (num, size);

-- name: done_index_name
-- only: postgresql
CREATE INDEX IF NOT EXISTS done_@SLOT@_by_name
ON done_@SLOT@((num >> 18), left(name, 64) text_pattern_ops, num) WHERE name IS NOT NULL;

-- name: done_untidied
-- only: postgresql
-- Purged rows disappear when the table is dropped (retain.c), so they need no vacuum.  A growing table is still
-- vacuumed now and then, slowly (schema/0020_calm.sql).
ALTER TABLE done_@SLOT@ SET (autovacuum_vacuum_scale_factor=100, autovacuum_analyze_scale_factor=1,
    autovacuum_vacuum_cost_delay=10);

-- name: done_index_state
-- Without state 6 (delivered), in which most documents end.
CREATE INDEX IF NOT EXISTS done_@SLOT@_by_state ON done_@SLOT@(state, num) WHERE state <> 6;

-- name: doc_drop
-- in:  $1 num int
DELETE FROM doc WHERE num = $1;

-- name: database_check
PRAGMA quick_check(1);

-- name: database_check
-- for: postgresql
SELECT 'ok'::text;
