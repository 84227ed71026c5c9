-- Commit 1: the document, its payload, its first task, its idempotency key.

-- name: doc_add
-- in:  $1 num int, $2 id bytes, $3 gateway int, $4 caller int, $5 config int, $6 received int, $7 size int,
--      $8 sha256 bytes, $9 seg int, $10 pos int, $11 name text, $12 ctype text, $13 head bytes,
--      $14 seq int
-- batch
INSERT INTO doc(num, id, gateway, caller, config, received_us, size, sha256, seg, pos, name, ctype, head,
    seq)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- name: doc_add_numbered
-- only: postgresql
-- in:  $1 num int, $2 id bytes, $3 gateway int, $4 caller int, $5 config int, $6 received int, $7 size int,
--      $8 sha256 bytes, $9 seg int, $10 pos int, $11 name text, $12 ctype text, $13 head bytes
-- batch
-- for: postgresql
-- Documents that take the next numbers in the order of acceptance, in the order of the rows; the last number.  Taking
-- them locks out all other nodes until the commit: it runs in the trip of the COMMIT.
WITH taken AS (UPDATE order_seq SET value = value + cardinality($1::bigint[]) RETURNING value),
added AS (INSERT INTO doc(num, id, gateway, caller, config, received_us, size, sha256, seg, pos, name, ctype, head,
        seq)
    SELECT u.num, u.id, u.gateway, u.caller, u.config, u.received, u.size, u.sha256, u.seg, u.pos, u.name, u.ctype,
        u.head, t.value - cardinality($1::bigint[]) + u.at
    FROM taken t, unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
        $7::bigint[], $8::bytea[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::bytea[])
        WITH ORDINALITY AS u(num, id, gateway, caller, config, received, size, sha256, seg, pos, name, ctype, head, at)
    RETURNING gateway, seq),
opened AS (INSERT INTO order_open(gateway, seq) SELECT gateway, seq FROM added)
SELECT value FROM taken;

-- name: doc_seq
-- only: postgresql
-- in:  $1 num int
SELECT seq FROM doc WHERE num = $1;

-- name: task_ready_add
-- in:  $1 queue int, $2 prio int, $3 rank int, $4 id int, $5 kind int
-- batch
INSERT INTO task_ready(queue, prio, rank, id, kind, attempts, rescues, crashes)
VALUES ($1, $2, $3, $4, $5, 0, 0, 0);

-- name: claim_number
-- only: postgresql
SELECT nextval('claim_number');

-- name: task_lease_add
-- only: postgresql
-- in:  $1 id int, $2 claim int, $3 node int, $4 lease int, $5 queue int, $6 prio int, $7 rank int, $8 kind int
-- batch
-- The task of a document that the accepting node processes at once.
INSERT INTO task_lease(id, claim, node_id, until_us, queue, prio, rank, kind, attempts, rescues, crashes)
VALUES ($1, $2, $3, @NOW_US@ + $4, $5, $6, $7, $8, 1, 0, 0);

-- name: payload_add
-- only: postgresql
-- in:  $1 num int, $2 bytes bytes
-- batch
INSERT INTO payload_@SLOT@(num, bytes) VALUES ($1, $2);

-- name: large_add
-- only: sqlite
-- in:  $1 pos int, $2 num int
INSERT INTO large(pos, num) VALUES ($1, $2);

-- name: large_known
-- only: sqlite
-- in:  $1 pos int
SELECT count(*) FROM large WHERE pos = $1;

-- name: tally_add
-- in:  $1 node int, $2 writer int, $3 kind int, $4 word int, $5 n int
-- batch
INSERT INTO tally(node_id, writer, kind, word, n) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT(node_id, writer, kind, word) DO UPDATE SET n = tally.n + excluded.n;

-- name: tally_sum
-- in:  $1 kind int
SELECT CAST(sum(n) AS @INT@) FROM tally WHERE kind = $1;

-- name: idem_make
-- Keys in order of arrival; the index over them is filled in sorted runs (key_log.h).
CREATE TABLE IF NOT EXISTS idem_@SLOT@(
    seq INTEGER PRIMARY KEY, key BLOB NOT NULL, id BLOB NOT NULL, sha256 BLOB NOT NULL,
    until_us INTEGER NOT NULL) STRICT;

-- name: idem_make
-- for: postgresql
CREATE TABLE IF NOT EXISTS idem_@SLOT@(
    key BYTEA NOT NULL PRIMARY KEY, id BYTEA NOT NULL, sha256 BYTEA NOT NULL,
    until_us BIGINT NOT NULL);

-- name: idem_drop
DROP TABLE IF EXISTS idem_@SLOT@;

-- name: key_index_make
-- only: sqlite
CREATE TABLE IF NOT EXISTS idem_index_@SLOT@(hash INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT;

-- name: key_index_drop
-- only: sqlite
DROP TABLE IF EXISTS idem_index_@SLOT@;

-- name: key_index_add
-- only: sqlite
-- in:  $1 hash int, $2 seq int
INSERT INTO idem_index_@SLOT@(hash, seq) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: key_index_get
-- only: sqlite
-- in:  $1 hash int
SELECT seq FROM idem_index_@SLOT@ WHERE hash = $1;

-- name: key_add
-- only: sqlite
-- in:  $1 seq int, $2 key bytes, $3 id bytes, $4 sha256 bytes, $5 until int
-- batch
INSERT INTO idem_@SLOT@(seq, key, id, sha256, until_us) VALUES ($1, $2, $3, $4, $5);

-- name: key_get
-- only: sqlite
-- in:  $1 seq int
-- out: key, id, sha256, until_us
SELECT key, id, sha256, until_us FROM idem_@SLOT@ WHERE seq = $1;

-- name: key_tail
-- only: sqlite
-- in:  $1 after int, $2 limit int
-- out: seq, key
SELECT seq, key FROM idem_@SLOT@ WHERE seq > $1 ORDER BY seq LIMIT $2;

-- name: idem_find
-- only: postgresql
-- in:  $1 key bytes
-- batch
-- for: postgresql
-- out: which, id, sha256, until_us
SELECT u.at, i.id, i.sha256, i.until_us
FROM unnest($1::bytea[]) WITH ORDINALITY AS u(key, at) JOIN idem_@SLOT@ i ON i.key = @KEY(u.key)@;

-- name: idem_add
-- only: postgresql
-- in:  $1 key bytes, $2 id bytes, $3 sha256 bytes, $4 until int
-- batch
INSERT INTO idem_@SLOT@(key, id, sha256, until_us) VALUES ($1, $2, $3, $4);

-- name: idem_forget
-- only: postgresql
-- in:  $1 key bytes
DELETE FROM idem_@SLOT@ WHERE key = $1;

-- name: facet_words
-- only: sqlite
-- in:  $1 above int, $2 upto int
-- out: @indexed@
SELECT @indexed@ FROM doc WHERE num > $1 AND num <= $2;

-- name: facet_words_done
-- only: sqlite
-- in:  $1 above int, $2 upto int
-- out: @indexed@
-- Those that ended before their slice came.
SELECT @indexed@ FROM done_@SLOT@
WHERE num > $1 AND num <= $2;

-- name: facet_add
-- only: sqlite
-- in:  $1 key int, $2 more bytes
INSERT OR REPLACE INTO facet(key, more) VALUES ($1, $2);

-- name: upload_start
-- only: postgresql
-- in:  $1 day int, $2 node int
-- Gives the number of the upload (payload.h).
INSERT INTO payload_upload(upload, node_id, started_us)
VALUES (-1 - (($1 << 44) + nextval('payload_upload_number')), $2, @NOW_US@) RETURNING upload;

-- name: upload_piece
-- only: postgresql
-- in:  $1 upload int, $2 piece int, $3 bytes bytes
INSERT INTO payload_piece_@SLOT@(upload, piece, bytes) VALUES ($1, $2, $3);

-- name: upload_adopt
-- only: postgresql
-- in:  $1 upload int
-- Fails (division by zero) when the upload is missing: it was swept, or another document adopted it.
WITH gone AS (DELETE FROM payload_upload WHERE upload = $1 RETURNING 1)
SELECT 1 / count(*) FROM gone;

-- name: upload_drop
-- only: postgresql
-- in:  $1 upload int
-- Marks its pieces for deletion, some at a time (payload.h: PAYLOAD_IN_PIECES).  No effect on an adopted upload.
WITH gone AS (DELETE FROM payload_upload WHERE upload = $1 RETURNING upload)
INSERT INTO payload_gone(seg, pos, state) SELECT -2, upload, 1 FROM gone ON CONFLICT DO NOTHING;

-- name: upload_sweep
-- only: postgresql
-- in:  $1 age int
-- Uploads that no accept adopted for longer than $1.
WITH gone AS (DELETE FROM payload_upload WHERE started_us < @NOW_US@ - $1 RETURNING upload)
INSERT INTO payload_gone(seg, pos, state) SELECT -2, upload, 1 FROM gone ON CONFLICT DO NOTHING;

-- name: payload_get
-- only: postgresql
-- in:  $1 num int
SELECT bytes FROM payload_@SLOT@ WHERE num = $1;

-- name: payload_find
-- only: postgresql
-- for: postgresql
-- in:  $1 num int
-- batch
-- out: which, bytes
SELECT u.at, p.bytes FROM unnest($1::bigint[]) WITH ORDINALITY AS u(num, at)
JOIN payload_@SLOT@ p ON p.num = @KEY(u.num)@;

-- name: payload_today
-- only: postgresql
SELECT @NOW_US@ / 86400000000;

-- name: payload_make
-- only: postgresql
CREATE TABLE IF NOT EXISTS payload_@SLOT@(LIKE payload_0 INCLUDING ALL) WITH (autovacuum_vacuum_cost_delay=10);

-- name: payload_drop
-- only: postgresql
DROP TABLE payload_@SLOT@;

-- name: payload_worn
-- only: postgresql
-- in:  $1 family int, $2 name text, $3 rows int, $4 bytes int, $5 from int
-- out: day, bytes
-- Tables, from a day on, that nothing goes into any more, and that have few rows or none, by the server's own
-- counts.  These may stay wrong: an ANALYZE that runs beside the purge reports what it saw before.
SELECT p.slot AS day, pg_total_relation_size(c.oid) AS bytes
FROM (SELECT slot FROM part WHERE family = $1 UNION SELECT 0) AS p
JOIN pg_class c ON c.relname = $2 || p.slot AND c.relnamespace = current_schema()::regnamespace
LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE p.slot >= $5 AND p.slot < @NOW_US@ / 86400000000 - 1
    AND coalesce(s.n_live_tup, 0) <= $3 AND (p.slot <> 0 OR pg_total_relation_size(c.oid) >= $4)
ORDER BY p.slot LIMIT 16;

-- name: payload_lock
-- only: postgresql
LOCK TABLE payload_@SLOT@ IN ACCESS EXCLUSIVE MODE NOWAIT;

-- name: payload_left
-- only: postgresql
-- in:  $1 limit int
SELECT count(*) FROM (SELECT p.num FROM payload_@SLOT@ p ORDER BY p.num LIMIT $1) AS few;

-- name: payload_left_bytes
-- only: postgresql
-- in:  $1 limit int
SELECT coalesce(sum(octet_length(bytes)), 0)::bigint
FROM (SELECT p.bytes FROM payload_@SLOT@ p ORDER BY p.num LIMIT $1) AS few;

-- name: payload_old
-- only: postgresql
ALTER TABLE payload_@SLOT@ RENAME TO payload_old_@SLOT@;

-- name: payload_anew
-- only: postgresql
CREATE TABLE payload_@SLOT@(LIKE payload_old_@SLOT@ INCLUDING ALL) WITH (autovacuum_vacuum_cost_delay=10);

-- name: payload_rest
-- only: postgresql
INSERT INTO payload_@SLOT@(num, bytes) SELECT num, bytes FROM payload_old_@SLOT@;

-- name: payload_old_drop
-- only: postgresql
DROP TABLE payload_old_@SLOT@;

-- name: payload_piece_get
-- only: postgresql
-- in:  $1 upload int, $2 piece int
SELECT bytes FROM payload_piece_@SLOT@ WHERE upload = $1 AND piece = $2;

-- name: piece_make
-- only: postgresql
CREATE TABLE IF NOT EXISTS payload_piece_@SLOT@(LIKE payload_piece_0 INCLUDING ALL)
WITH (autovacuum_vacuum_cost_delay=10);

-- name: piece_drop
-- only: postgresql
DROP TABLE payload_piece_@SLOT@;

-- name: piece_lock
-- only: postgresql
LOCK TABLE payload_piece_@SLOT@ IN ACCESS EXCLUSIVE MODE NOWAIT;

-- name: piece_left
-- only: postgresql
-- in:  $1 limit int
SELECT count(*) FROM (SELECT p.piece FROM payload_piece_@SLOT@ p ORDER BY p.upload, p.piece LIMIT $1) AS few;

-- name: piece_left_bytes
-- only: postgresql
-- in:  $1 limit int
SELECT coalesce(sum(octet_length(bytes)), 0)::bigint
FROM (SELECT p.bytes FROM payload_piece_@SLOT@ p ORDER BY p.upload, p.piece LIMIT $1) AS few;

-- name: piece_old
-- only: postgresql
ALTER TABLE payload_piece_@SLOT@ RENAME TO payload_piece_old_@SLOT@;

-- name: piece_anew
-- only: postgresql
CREATE TABLE payload_piece_@SLOT@(LIKE payload_piece_old_@SLOT@ INCLUDING ALL)
WITH (autovacuum_vacuum_cost_delay=10);

-- name: piece_rest
-- only: postgresql
INSERT INTO payload_piece_@SLOT@(upload, piece, bytes) SELECT upload, piece, bytes FROM payload_piece_old_@SLOT@;

-- name: piece_old_drop
-- only: postgresql
DROP TABLE payload_piece_old_@SLOT@;
