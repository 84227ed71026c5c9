-- Configuration versions, callers, secrets.

-- columns version: version, made_us, made_by, note, sha256, body

-- name: config_newest
SELECT max(version) FROM config;

-- name: config_get
-- in:  $1 version int
-- out: @version@
SELECT @version@ FROM config WHERE version = $1;

-- name: config_at
-- in:  $1 at int
-- The version that was in force then.
SELECT version FROM config WHERE made_us <= $1 ORDER BY version DESC LIMIT 1;

-- name: config_page
-- in:  $1 limit int
-- out: @version@
-- Without the texts: a history is many of them.
SELECT version, made_us, made_by, note, sha256, '' AS body FROM config ORDER BY version DESC LIMIT $1;

-- name: config_add
-- in:  $1 version int, $2 made_by text, $3 note text, $4 sha256 bytes, $5 body text
INSERT INTO config(version, made_us, made_by, note, sha256, body) VALUES ($1, @NOW_US@, $2, $3, $4, $5);

-- name: config_blob_add
-- in:  $1 sha256 bytes, $2 bytes bytes
INSERT INTO config_blob(sha256, bytes) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: config_file_add
-- in:  $1 version int, $2 path text, $3 sha256 bytes, $4 size int
INSERT INTO config_file(version, path, sha256, size) VALUES ($1, $2, $3, $4);

-- name: config_file_list
-- in:  $1 version int
-- out: path, sha256, size
SELECT path, sha256, size FROM config_file WHERE version = $1 ORDER BY path;

-- name: config_file_page
-- in:  $1 version int, $2 path text
-- out: path, sha256, bytes
-- The next file of a version behind a path, with its content; null: it is gone.
SELECT f.path, f.sha256, b.bytes FROM config_file f LEFT JOIN config_blob b ON b.sha256 = f.sha256
WHERE f.version = $1 AND f.path > $2 ORDER BY f.path LIMIT 1;

-- name: config_blob_get
-- in:  $1 sha256 bytes
SELECT bytes FROM config_blob WHERE sha256 = $1;

-- name: caller_all
-- out: id, name, gateway, title, secret, made_us, systems, networks, expires_us, used_us
SELECT id, name, gateway, title, secret, made_us, systems, networks, expires_us, used_us FROM caller ORDER BY id;

-- name: caller_add
-- in:  $1 id int, $2 name text, $3 gateway int, $4 title text, $5 secret bytes, $6 systems text,
--      $7 networks text, $8 expires int
INSERT INTO caller(id, name, gateway, title, secret, made_us, systems, networks, expires_us)
VALUES ($1, $2, $3, $4, $5, @NOW_US@, $6, $7, $8);

-- name: caller_use
-- in:  $1 id int, $2 used int
UPDATE caller SET used_us = $2 WHERE id = $1 AND used_us < $2;

-- name: caller_drop
-- in:  $1 name text
DELETE FROM caller WHERE name = $1;

-- name: caller_get
-- in:  $1 name text
-- out: gateway, title
SELECT gateway, title FROM caller WHERE name = $1;

-- name: caller_name
-- in:  $1 id int
SELECT name FROM caller WHERE id = $1;

-- name: secret_put
-- in:  $1 name text, $2 sealed bytes, $3 fingerprint text, $4 made_by text
INSERT INTO secret(name, sealed, fingerprint, made_us, made_by) VALUES ($1, $2, $3, @NOW_US@, $4)
ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, fingerprint = excluded.fingerprint,
    made_us = excluded.made_us, made_by = excluded.made_by;

-- name: secret_drop
-- in:  $1 name text
DELETE FROM secret WHERE name = $1;

-- name: secret_all
-- out: name, fingerprint, made_by, made_us
SELECT name, fingerprint, made_by, made_us FROM secret ORDER BY name;

-- name: secret_others
-- in:  $1 name text
-- The number of other secrets.
SELECT count(*) FROM secret WHERE name <> $1;

-- name: secret_sealed
-- in:  $1 name text
SELECT sealed FROM secret WHERE name = $1;

-- name: secret_print
-- in:  $1 name text
SELECT fingerprint FROM secret WHERE name = $1;
