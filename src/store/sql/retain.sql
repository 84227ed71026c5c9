-- Purging: tables of days in slices, then payloads.  Part family 2 are tables of days, family 3
-- empty ones that are dropped once no reader can still use them.

-- columns kept: num, id, reason, made_by, made_us

-- name: retain_turn
-- 1 when this transaction is the only one that lets go of something now.
SELECT 1;

-- name: retain_turn
-- for: postgresql
SELECT CASE WHEN pg_try_advisory_xact_lock(7305808868241270378) THEN 1::bigint ELSE 0::bigint END;

-- name: retain_wait
-- The same, but waits for the lock.
SELECT 1;

-- name: retain_wait
-- for: postgresql
SELECT pg_advisory_xact_lock(7305808868241270378);

-- name: retain_days
-- in:  $1 before int, $2 limit int
SELECT slot FROM part WHERE family = 2 AND slot < $1 ORDER BY slot LIMIT $2;

-- name: retain_guard
-- in:  $1 accepted int, $2 purged int
-- out: since, day, count, present, present_now
-- What the guard knows, and how many documents there are now.
SELECT max(CASE name WHEN 'retain_since' THEN value END), max(CASE name WHEN 'retain_day' THEN value END),
    max(CASE name WHEN 'retain_count' THEN value END), max(CASE name WHEN 'retain_present' THEN value END),
    (SELECT CAST(coalesce(sum(CASE kind WHEN $1 THEN n ELSE -n END), 0) AS @INT@) FROM tally WHERE kind IN ($1, $2))
FROM mark WHERE name IN ('retain_since', 'retain_day', 'retain_count', 'retain_present');

-- name: retain_guard_set
-- in:  $1 since int, $2 day int, $3 count int, $4 present int
UPDATE mark SET value = CASE name WHEN 'retain_since' THEN CAST($1 AS @INT@) WHEN 'retain_day' THEN CAST($2 AS @INT@)
    WHEN 'retain_count' THEN CAST($3 AS @INT@) ELSE CAST($4 AS @INT@) END
WHERE name IN ('retain_since', 'retain_day', 'retain_count', 'retain_present');

-- name: retain_upto
-- in:  $1 above int, $2 count int, $3 bytes int
-- out: upto, kept
-- The last number of a slice; whether one is kept (as 1) of those up to it.
SELECT upto, (SELECT count(*) FROM (SELECT 1 FROM kept WHERE num > $1 AND num <= upto LIMIT 1) AS any_of_them)
FROM (SELECT max(num) AS upto FROM (SELECT num, size, sum(size) OVER (ORDER BY num) AS total
    FROM (SELECT num, size FROM done_@SLOT@ WHERE num > $1 ORDER BY num LIMIT $2) AS slice) AS sums
    WHERE total - size <= $3) AS last;

-- name: retain_spare
-- in:  $1 above int, $2 upto int
-- Those that are kept go to a table of their own (RETAIN_KEPT_DAY).
INSERT INTO done_1000000(@done@)
SELECT @done@
FROM done_@SLOT@ WHERE num > $1 AND num <= $2 AND num IN (SELECT k.num FROM kept k WHERE k.num > $1 AND k.num <= $2);

-- name: retain_spare
-- for: postgresql
-- in:  $1 above int, $2 upto int
-- One statement: between two of them a document could be revived and be in both tables.
WITH gone AS (DELETE FROM done_@SLOT@ WHERE num > $1 AND num <= $2
    AND num IN (SELECT k.num FROM kept k WHERE k.num > $1 AND k.num <= $2) RETURNING *)
INSERT INTO done_1000000(@done@)
SELECT @done@
FROM gone;

-- name: retain_spared
-- only: sqlite
-- in:  $1 above int, $2 upto int
DELETE FROM done_@SLOT@ WHERE num > $1 AND num <= $2
    AND num IN (SELECT k.num FROM kept k WHERE k.num > $1 AND k.num <= $2);

-- name: retain_take
-- in:  $1 above int, $2 upto int, $3 ended int
-- out: num, seg, pos, size, gateway, sender, receiver, dtype, trail
-- What there was to let go of.  A kept document may have come since retain_spare (PostgreSQL: from a node whose clock
-- is far behind); the next slice spares it.
DELETE FROM done_@SLOT@ WHERE num > $1 AND num <= $2 AND ended_us <= $3
    AND num NOT IN (SELECT k.num FROM kept k WHERE k.num > $1 AND k.num <= $2)
RETURNING num, seg, pos, size, gateway, sender, receiver, dtype, trail;

-- name: retain_gone
-- in:  $1 seg int, $2 pos int, $3 state int
-- batch
INSERT INTO payload_gone(seg, pos, state) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: retain_payload
-- only: postgresql
-- in:  $1 num int
-- batch
-- for: postgresql
DELETE FROM payload_@SLOT@ WHERE num = ANY ($1::bigint[]);

-- name: retain_children
-- in:  $1 num int
-- batch
-- All but the parts (kind 5): there may be a hundred thousand, whose links go with them.
DELETE FROM link WHERE parent = $1 AND kind < 5;

-- name: retain_children
-- for: postgresql
-- in:  $1 num int
-- batch
DELETE FROM link WHERE parent = ANY ($1::bigint[]) AND kind < 5;

-- name: retain_parents
-- in:  $1 num int
-- batch
-- out: which, parent, kind
DELETE FROM link WHERE child = $1 RETURNING 1, parent, kind;

-- name: retain_parents
-- for: postgresql
-- in:  $1 num int
-- batch
DELETE FROM link l USING unnest($1::bigint[]) WITH ORDINALITY AS u(num, at) WHERE l.child = @KEY(u.num)@
RETURNING u.at, l.parent, l.kind;

-- name: retain_pieces
-- only: postgresql
-- in:  $1 upload int, $2 limit int
DELETE FROM payload_piece_@SLOT@ WHERE upload = $1
    AND piece IN (SELECT p.piece FROM payload_piece_@SLOT@ p WHERE p.upload = $1 ORDER BY p.piece LIMIT $2);

-- name: retain_large
-- only: sqlite
-- in:  $1 pos int
DELETE FROM large WHERE pos = $1;

-- name: retain_first
-- in:  $1 above int, $2 upto int
SELECT num FROM done_@SLOT@ WHERE num > $1 AND num <= $2 ORDER BY num LIMIT 1;

-- name: retain_empty
-- in:  $1 slot int
INSERT INTO part(family, slot, value) VALUES (3, $1, @NOW_US@) ON CONFLICT DO NOTHING;

-- name: retain_empties
-- in:  $1 age int
SELECT slot FROM part WHERE family = 3 AND value < @NOW_US@ - $1 ORDER BY slot LIMIT 16;

-- name: retain_lock
SELECT 1;

-- name: retain_lock
-- for: postgresql
LOCK TABLE done_@SLOT@ IN ACCESS EXCLUSIVE MODE NOWAIT;

-- name: retain_drop
DROP TABLE IF EXISTS done_@SLOT@;

-- name: retain_todo
-- in:  $1 state int, $2 seg int, $3 pos int, $4 limit int
-- out: seg, pos
-- Behind a place.
SELECT seg, pos FROM payload_gone WHERE state = $1 AND (seg, pos) > ($2, $3) ORDER BY seg, pos LIMIT $4;

-- name: retain_todo_count
SELECT count(*) FROM payload_gone;

-- name: retain_todo_done
-- in:  $1 seg int, $2 pos int
DELETE FROM payload_gone WHERE seg = $1 AND pos = $2;

-- name: retain_todo_set
-- in:  $1 seg int, $2 pos int, $3 state int
UPDATE payload_gone SET state = $3 WHERE seg = $1 AND pos = $2;

-- name: read_begin
-- only: sqlite
-- One snapshot for several statements of a reader.
BEGIN;

-- name: retain_live
-- only: sqlite
-- in:  $1 from int, $2 upto int
SELECT num FROM doc WHERE num >= $1 AND num <= $2;

-- name: retain_ended
-- only: sqlite
-- in:  $1 from int, $2 upto int
SELECT num FROM done_@SLOT@ WHERE num >= $1 AND num <= $2;

-- name: moved_get
-- only: sqlite
-- in:  $1 seg int, $2 pos int
-- out: to_seg, to_pos
SELECT to_seg, to_pos FROM moved WHERE seg = $1 AND pos = $2;

-- name: moved_on
-- only: sqlite
-- in:  $1 seg int, $2 pos int, $3 to_seg int, $4 to_pos int
UPDATE moved SET to_seg = $3, to_pos = $4 WHERE to_seg = $1 AND to_pos = $2;

-- name: moved_add
-- only: sqlite
-- in:  $1 seg int, $2 pos int, $3 to_seg int, $4 to_pos int
INSERT INTO moved(seg, pos, to_seg, to_pos) VALUES ($1, $2, $3, $4)
ON CONFLICT(seg, pos) DO UPDATE SET to_seg = excluded.to_seg, to_pos = excluded.to_pos;

-- name: moved_forget
-- only: sqlite
-- in:  $1 seg int
DELETE FROM moved WHERE to_seg = $1;

-- name: facet_below
-- only: sqlite
-- in:  $1 key int, $2 least int
-- out: key, more
-- The list in which a number stands, if it stands in one.
SELECT key, more FROM facet WHERE key <= $1 AND key >= $2 ORDER BY key DESC LIMIT 1;

-- name: facet_drop
-- only: sqlite
-- in:  $1 key int
DELETE FROM facet WHERE key = $1;

-- name: kept_put
-- in:  $1 num int, $2 id bytes, $3 reason text, $4 by text
INSERT INTO kept(num, id, reason, made_by, made_us) VALUES ($1, $2, $3, $4, @NOW_US@)
ON CONFLICT(num) DO UPDATE SET reason = excluded.reason, made_by = excluded.made_by, made_us = excluded.made_us;

-- name: kept_drop
-- in:  $1 num int, $2 id bytes
-- Compares the whole id: another id may contain the same number.
DELETE FROM kept WHERE num = $1 AND id = $2;

-- name: kept_get
-- in:  $1 num int
-- out: @kept@
SELECT @kept@ FROM kept WHERE num = $1;

-- name: kept_page
-- in:  $1 above int, $2 limit int
-- out: @kept@
SELECT @kept@ FROM kept WHERE num > $1 ORDER BY num LIMIT $2;

-- name: kept_count
SELECT count(*) FROM kept;

-- name: kept_back
-- in:  $1 num int
-- From the table of those that are kept to that of a day.
INSERT INTO done_@SLOT@(@done@)
SELECT @done@
FROM done_1000000 WHERE num = $1;

-- name: kept_moved
-- in:  $1 num int
DELETE FROM done_1000000 WHERE num = $1;

-- name: kept_line
-- in:  $1 num int, $2 trail bytes
-- Appends a line to the timeline of an ended document.
UPDATE done_@SLOT@ SET trail = CASE WHEN trail IS NULL THEN $2 WHEN length(trail) + length($2) > 262144 THEN trail
    ELSE CAST(trail || $2 AS BLOB) END
WHERE num = $1;

-- name: kept_line
-- for: postgresql
-- in:  $1 num int, $2 trail bytes
UPDATE done_@SLOT@ SET trail = CASE WHEN trail IS NULL THEN $2::bytea
    WHEN length(trail) + length($2::bytea) > 262144 THEN trail ELSE trail || $2::bytea END
WHERE num = $1;

-- name: retain_type
-- in:  $1 num int
SELECT dtype FROM doc WHERE num = $1;

-- name: archive_upto
-- in:  $1 day int
-- The latest end of what is in its archives (in old ones the time of the clock): nothing that ended later is.
SELECT max(upto_us) FROM archive WHERE day = $1;

-- name: archive_turn
-- only: postgresql
-- 1 when, until this connection ends, no other one writes archives.
SELECT CASE WHEN pg_try_advisory_lock(hashtextextended(current_schema(), 7305808868241270379))
    THEN 1::bigint ELSE 0::bigint END;

-- name: archive_parts
-- in:  $1 day int, $2 above int, $3 limit int
-- out: folder, name, sha256, part
SELECT folder, name, sha256, part FROM archive WHERE day = $1 AND part > $2 ORDER BY part LIMIT $3;

-- name: archive_is
-- in:  $1 day int, $2 part int, $3 name text
SELECT count(*) FROM archive WHERE day = $1 AND part = $2 AND name = $3;

-- name: archive_add
-- in:  $1 day int, $2 part int, $3 folder text, $4 name text, $5 sha256 bytes, $6 first int, $7 last int,
--      $8 documents int, $9 bytes int, $10 upto int
INSERT INTO archive(day, part, folder, name, sha256, first_num, last_num, documents, bytes, upto_us, made_us)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, @NOW_US@) ON CONFLICT DO NOTHING;

-- name: archive_find
-- in:  $1 num int, $2 day int, $3 part int, $4 limit int
-- out: folder, name, day, part
-- Those behind a place that may have a document, the newest day first.
SELECT folder, name, day, part FROM archive
WHERE first_num <= $1 AND last_num >= $1 AND (day < $2 OR (day = $2 AND part > $3))
ORDER BY day DESC, part LIMIT $4;

-- name: archive_page
-- in:  $1 limit int
-- out: day, part, folder, name, documents, bytes, made_us, sha256
-- The newest first.
SELECT day, part, folder, name, documents, bytes, made_us, sha256 FROM archive ORDER BY day DESC, part DESC LIMIT $1;

-- name: archive_docs
-- in:  $1 above int, $2 limit int
-- out: @done@
SELECT @done@
FROM done_@SLOT@ WHERE num > $1 ORDER BY num LIMIT $2;

-- name: compact
-- only: sqlite
-- in:  $1 path text
VACUUM INTO $1;

-- name: compact_rows
-- only: sqlite
-- A checksum over row counts, to detect changes.
SELECT (SELECT count(*) FROM sqlite_master) * 1000003 + (SELECT count(*) FROM doc) * 31
    + (SELECT count(*) FROM delivery) * 17 + (SELECT count(*) FROM task_ready) * 13
    + (SELECT count(*) FROM task_later) * 11 + (SELECT count(*) FROM task_dead) * 7
    + (SELECT count(*) FROM facet) * 5 + (SELECT coalesce(sum(n), 0) FROM tally)
    + (SELECT sum(value) FROM mark);
