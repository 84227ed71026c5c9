-- What a backup must contain: payloads, by the rows that refer to them.

-- name: backup_docs
-- only: sqlite
-- in:  $1 above int, $2 limit int
-- out: num, id, size, sha256, seg, pos
SELECT num, id, size, sha256, seg, pos FROM doc WHERE num > $1 ORDER BY num LIMIT $2;

-- name: backup_done
-- only: sqlite
-- in:  $1 above int, $2 limit int
SELECT num, id, size, sha256, seg, pos FROM done_@SLOT@ WHERE num > $1 ORDER BY num LIMIT $2;

-- name: backup_parts
-- only: sqlite
-- in:  $1 above int, $2 limit int
-- Deliveries with a payload of their own.
SELECT v.num, d.id, v.b_size, v.b_sha256, v.b_seg, v.b_pos FROM delivery v JOIN doc d ON d.num = @KEY(v.doc)@
WHERE v.num > $1 AND v.b_seg IS NOT NULL ORDER BY v.num LIMIT $2;

-- name: backup_large
-- only: sqlite
-- in:  $1 above int, $2 limit int
SELECT pos FROM large WHERE pos > $1 ORDER BY pos LIMIT $2;

-- name: backup_point
-- only: postgresql
-- out: where the log of the server stands: everything that was committed lies before
SELECT pg_current_wal_lsn()::text;

-- name: backup_secrets
-- only: postgresql
-- out: name, fingerprint, the sealed value in hex
SELECT name, fingerprint, encode(sealed, 'hex') FROM secret ORDER BY name;
