-- Looking at documents, and ending them.  A live document is in doc, one that ended in
-- the table of the day on which it may go: done_DAY.

-- name: doc_get
-- in:  $1 num int
-- out: 13 state (NULL: from what follows), 14 when it changed, 15 sender, receiver, type, route, 19 again,
--      20 facts, trail, 22 the states of its deliveries as bits, 23 code and message of a dead letter,
--      25 of a delivery that has trouble, 27 its place in the order of acceptance
SELECT num, id, gateway, caller, config, received_us, size, sha256, seg, pos, name, ctype, head,
       NULL, updated_us, sender, receiver, dtype, route, again, facts, trail,
       (SELECT sum(DISTINCT 1 << v.state) FROM delivery v WHERE v.doc = d.num),
       (SELECT t.code FROM task_dead t WHERE t.id = d.num),
       (SELECT t.message FROM task_dead t WHERE t.id = d.num),
       (SELECT v.code FROM delivery v WHERE v.doc = d.num AND v.code IS NOT NULL AND v.state NOT IN (5, 7)
        ORDER BY v.state = 6 DESC, v.num LIMIT 1),
       (SELECT v.message FROM delivery v WHERE v.doc = d.num AND v.code IS NOT NULL AND v.state NOT IN (5, 7)
        ORDER BY v.state = 6 DESC, v.num LIMIT 1), seq
FROM doc d WHERE num = $1;

-- name: doc_get
-- for: postgresql
-- in:  $1 num int
SELECT d.num, d.id, gateway, caller, config, received_us, size, sha256, seg, pos, name, ctype, head,
       NULL::bigint, updated_us, sender, receiver, dtype, route, again, facts, trail,
       (SELECT bit_or(1::bigint << v.state::int) FROM delivery v WHERE v.doc = d.num), t.code, t.message,
       w.code, w.message, seq
FROM doc d LEFT JOIN task_dead t ON t.id = d.num
LEFT JOIN LATERAL (SELECT v.code, v.message FROM delivery v WHERE v.doc = d.num AND v.code IS NOT NULL
    AND v.state NOT IN (5, 7) ORDER BY v.state = 6 DESC, v.num LIMIT 1) w ON true
WHERE d.num = $1;

-- name: done_get
-- in:  $1 num int
-- out: as doc_get
SELECT num, id, gateway, caller, config, received_us, size, sha256, seg, pos, name, ctype, head,
       state, ended_us, sender, receiver, dtype, route, again, facts, trail FROM done_@SLOT@ WHERE num = $1;

-- name: doc_nums
-- in:  $1 below int, $2 limit int, $3 gateway int, $4 sender int, $5 receiver int, $6 dtype int
-- out: num, 1 when it has the words that are asked for (0: any)
SELECT num, CASE WHEN ($3 = 0 OR gateway = $3) AND ($4 = 0 OR sender = $4) AND ($5 = 0 OR receiver = $5)
    AND ($6 = 0 OR dtype = $6) THEN 1 ELSE 0 END
FROM doc WHERE num < $1 ORDER BY num DESC LIMIT $2;

-- name: done_nums
-- in:  $1 below int, $2 limit int, $3 gateway int, $4 sender int, $5 receiver int, $6 dtype int
SELECT num, CASE WHEN ($3 = 0 OR gateway = $3) AND ($4 = 0 OR sender = $4) AND ($5 = 0 OR receiver = $5)
    AND ($6 = 0 OR dtype = $6) THEN 1 ELSE 0 END
FROM done_@SLOT@ WHERE num < $1 ORDER BY num DESC LIMIT $2;

-- name: doc_nums_of_gateway
-- only: postgresql
-- in:  $1 below int, $2 limit int, $3 gateway int, $4 sender int, $5 receiver int, $6 dtype int
SELECT num, CASE WHEN ($3 = 0 OR gateway = $3) AND ($4 = 0 OR sender = $4) AND ($5 = 0 OR receiver = $5)
    AND ($6 = 0 OR dtype = $6) THEN 1 ELSE 0 END
FROM doc WHERE num < $1 AND gateway = $3 ORDER BY num DESC LIMIT $2;

-- name: done_nums_of_gateway
-- only: postgresql
-- in:  $1 below int, $2 limit int, $3 gateway int, $4 sender int, $5 receiver int, $6 dtype int
SELECT num, CASE WHEN ($3 = 0 OR gateway = $3) AND ($4 = 0 OR sender = $4) AND ($5 = 0 OR receiver = $5)
    AND ($6 = 0 OR dtype = $6) THEN 1 ELSE 0 END
FROM done_@SLOT@ WHERE num < $1 AND gateway = $3 ORDER BY num DESC LIMIT $2;

-- name: facet_nums
-- only: sqlite
-- in:  $1 below int, $2 limit int, $3 kind int, $4 word int
-- out: lists, by their first number
SELECT key & 1099511627775, more FROM facet
WHERE key >= ($3 << 60) + ($4 << 40) AND key < ($3 << 60) + ($4 << 40) + min($1, 1099511627775)
ORDER BY key DESC LIMIT $2;

-- name: doc_nums_above
-- only: sqlite
-- in:  $1 below int, $2 limit int, $3 kind int, $4 word int, $5 indexed int
-- What the index does not know yet.
SELECT num, 1 FROM doc WHERE num < $1 AND num > $5
    AND CASE $3 WHEN 1 THEN gateway WHEN 2 THEN sender WHEN 3 THEN receiver ELSE dtype END = $4
ORDER BY num DESC LIMIT $2;

-- name: done_nums_above
-- only: sqlite
-- in:  $1 below int, $2 limit int, $3 kind int, $4 word int, $5 indexed int
SELECT num, 1 FROM done_@SLOT@ WHERE num < $1 AND num > $5
    AND CASE $3 WHEN 1 THEN gateway WHEN 2 THEN sender WHEN 3 THEN receiver ELSE dtype END = $4
ORDER BY num DESC LIMIT $2;

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

-- name: doc_drop
-- in:  $1 num int
DELETE FROM doc WHERE num = $1;

-- name: doc_count
SELECT count(*) FROM doc;

-- name: done_count
SELECT count(*) FROM done_@SLOT@;

-- name: database_check
PRAGMA quick_check(1);

-- name: database_check
-- for: postgresql
SELECT 'ok'::text;
