-- What a backup must contain: payloads, by the rows that refer to them.

-- columns stored: num, id, size, sha256, seg, pos, trail

-- name: backup_docs
-- only: sqlite
-- in:  $1 above int, $2 limit int
-- out: @stored@
SELECT @stored@ FROM doc WHERE num > $1 ORDER BY num LIMIT $2;

-- name: backup_done
-- only: sqlite
-- in:  $1 above int, $2 limit int
-- out: @stored@
SELECT @stored@ FROM done_@SLOT@ WHERE num > $1 ORDER BY num LIMIT $2;

-- name: backup_parts
-- only: sqlite
-- in:  $1 above int, $2 limit int
-- out: @stored@
-- Deliveries with bytes of their own.
SELECT v.num, d.id, v.b_size AS size, v.b_sha256 AS sha256, v.b_seg AS seg, v.b_pos AS pos, NULL AS trail FROM delivery v JOIN doc d ON d.num = @KEY(v.doc)@
WHERE v.num > $1 AND v.b_seg IS NOT NULL ORDER BY v.num LIMIT $2;

-- name: backup_large
-- only: sqlite
-- in:  $1 above int, $2 limit int
SELECT pos FROM large WHERE pos > $1 ORDER BY pos LIMIT $2;

-- name: backup_point
-- only: postgresql
-- Where the log of the server stands: everything that was committed lies before.
SELECT pg_current_wal_lsn()::text;

-- name: backup_secrets
-- only: postgresql
-- out: name, fingerprint, sealed_hex
SELECT name, fingerprint, encode(sealed, 'hex') FROM secret ORDER BY name;
