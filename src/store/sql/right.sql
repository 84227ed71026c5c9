-- Roles, and keys for the admin API.

-- name: role_put
-- in:  $1 name text, $2 title text, $3 rights text, $4 systems text, $5 made_by text
-- An unchanged role keeps its author and time.
INSERT INTO role(name, title, rights, systems, made_us, made_by) VALUES ($1, $2, $3, $4, @NOW_US@, $5)
ON CONFLICT (name) DO UPDATE SET title = excluded.title, rights = excluded.rights,
    systems = excluded.systems, made_us = excluded.made_us, made_by = excluded.made_by
WHERE role.title <> excluded.title OR role.rights <> excluded.rights
    OR role.systems IS DISTINCT FROM excluded.systems;

-- name: role_others
-- in:  $1 name text
-- The number of other roles.
SELECT count(*) FROM role WHERE name <> $1;

-- name: role_drop
-- in:  $1 name text
DELETE FROM role WHERE name = $1;

-- name: role_all
-- out: name, title, rights, systems, made_us, made_by
SELECT name, title, rights, systems, made_us, made_by FROM role ORDER BY name;

-- name: admin_key_count
SELECT count(*) FROM admin_key;

-- name: admin_key_titled
-- in:  $1 title text
SELECT count(*) FROM admin_key WHERE title = $1;

-- name: admin_key_add
-- in:  $1 name text, $2 title text, $3 secret bytes, $4 roles text, $5 expires int, $6 made_by text
INSERT INTO admin_key(name, title, secret, roles, expires_us, made_us, made_by)
VALUES ($1, $2, $3, $4, $5, @NOW_US@, $6);

-- name: admin_key_drop
-- in:  $1 name text
DELETE FROM admin_key WHERE name = $1;

-- name: admin_key_use
-- in:  $1 name text, $2 used int
UPDATE admin_key SET used_us = $2 WHERE name = $1 AND used_us < $2;

-- name: admin_key_all
-- out: name, title, secret, roles, expires_us, used_us, made_us, made_by
SELECT name, title, secret, roles, expires_us, used_us, made_us, made_by FROM admin_key ORDER BY name;
