-- Records of sets (store/road/set_record.h, store/govern/record_table.h).

-- name: set_record_get
-- in:  $1 set int, $2 key bytes
-- out: value, version, doc, updated_us, previous, gateway, seq, child
SELECT value, version, doc, updated_us, previous, gateway, seq, child FROM set_record
WHERE set_id = $1 AND key = $2;

-- name: set_record_version
-- in:  $1 set int, $2 key bytes
-- Its version now, which nobody else changes until the commit.
SELECT version FROM set_record WHERE set_id = $1 AND key = $2 @FOR_UPDATE@;

-- name: set_record_put
-- in:  $1 set int, $2 key bytes, $3 value bytes, $4 version int, $5 doc int, $6 before int, $7 previous bytes,
--      $8 gateway int, $9 seq int, $10 child int
-- Nothing when another value came in between.
INSERT INTO set_record(set_id, key, value, version, doc, updated_us, previous, gateway, seq, child)
VALUES ($1, $2, $3, $4, $5, @NOW_US@, $7, $8, $9, $10)
ON CONFLICT(set_id, key) DO UPDATE SET value = excluded.value, version = excluded.version, doc = excluded.doc,
    updated_us = excluded.updated_us, previous = excluded.previous, gateway = excluded.gateway,
    seq = excluded.seq, child = excluded.child
WHERE set_record.version = $6;

-- name: set_record_stays
-- in:  $1 set int, $2 key bytes, $3 version int, $4 before int, $5 gateway int, $6 seq int, $7 child int
-- The value came once more, with a document that stands there now; whose it is stays.  Nothing when another value came in
-- between.
UPDATE set_record SET version = $3, gateway = $5, seq = $6, child = $7
WHERE set_id = $1 AND key = $2 AND version = $4;

-- name: set_record_import
-- in:  $1 set int, $2 key bytes, $3 value bytes, $4 version int
-- Whatever the record was; nothing when it has this value already.
INSERT INTO set_record(set_id, key, value, version, doc, updated_us) VALUES ($1, $2, $3, $4, 0, @NOW_US@)
ON CONFLICT(set_id, key) DO UPDATE SET value = excluded.value, version = excluded.version, doc = 0,
    updated_us = excluded.updated_us, previous = NULL, gateway = 0, seq = 0, child = 0
WHERE set_record.value <> excluded.value;

-- name: set_record_page
-- in:  $1 set int, $2 after bytes, $3 limit int
-- out: key, size, version, updated_us
-- Without the values: a page may be many of them.
SELECT key, length(value) AS size, version, updated_us FROM set_record
WHERE set_id = $1 AND key > $2 ORDER BY key LIMIT $3;

-- name: set_record_drop
-- in:  $1 set int, $2 key bytes
DELETE FROM set_record WHERE set_id = $1 AND key = $2;

-- name: set_record_drop_some
-- in:  $1 set int, $2 limit int
DELETE FROM set_record WHERE set_id = $1 AND key IN (
    SELECT key FROM set_record WHERE set_id = $1 ORDER BY key LIMIT $2);

-- name: set_record_sets
-- in:  $1 limit int
-- out: set_id, records, updated_us
SELECT set_id, count(*) AS records, max(updated_us) AS updated_us FROM set_record
GROUP BY set_id ORDER BY set_id LIMIT $1;

-- name: set_record_odd
-- in:  $1 kind int, $2 key_most int, $3 value_most int
-- Records of no set, or larger than a record may be.
SELECT count(*) FROM set_record r WHERE length(r.key) > $2 OR length(r.value) > $3
    OR NOT EXISTS (SELECT 1 FROM word w WHERE w.id = r.set_id AND w.kind = $1);

-- name: set_record_count
SELECT count(*) FROM set_record;
