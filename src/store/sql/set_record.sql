-- Records of sets (store/road/set_record.h).

-- name: set_record_get
-- in:  $1 set int, $2 key bytes
-- out: value, version, doc, updated_us
SELECT value, version, doc, updated_us FROM set_record WHERE set_id = $1 AND key = $2;

-- name: set_record_version
-- in:  $1 set int, $2 key bytes
-- Its version now, which nobody else changes until the commit.
SELECT version FROM set_record WHERE set_id = $1 AND key = $2 @FOR_UPDATE@;

-- name: set_record_put
-- in:  $1 set int, $2 key bytes, $3 value bytes, $4 version int, $5 doc int, $6 before int
-- Nothing when another value came in between.
INSERT INTO set_record(set_id, key, value, version, doc, updated_us) VALUES ($1, $2, $3, $4, $5, @NOW_US@)
ON CONFLICT(set_id, key) DO UPDATE SET value = excluded.value, version = excluded.version, doc = excluded.doc,
    updated_us = excluded.updated_us
WHERE set_record.version = $6;
