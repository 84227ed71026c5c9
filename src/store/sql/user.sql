-- Users, their sessions and invitation links.

-- columns login: name, title, password, roles, disabled, iss, sub, made_us, login_us

-- name: user_all
-- out: @login@
SELECT @login@ FROM login_user ORDER BY name;

-- name: user_one
-- in:  $1 name text
-- out: @login@
SELECT @login@ FROM login_user WHERE name = $1;

-- name: user_by_sub
-- in:  $1 iss text, $2 sub text
-- out: @login@
SELECT @login@ FROM login_user
WHERE iss = $1 AND sub = $2 AND iss <> '';

-- name: user_count
SELECT count(*) FROM login_user;

-- name: user_add
-- in:  $1 name text, $2 title text, $3 password text, $4 roles text, $5 disabled int, $6 iss text,
--      $7 sub text
INSERT INTO login_user(name, title, password, roles, disabled, iss, sub, made_us, login_us)
VALUES ($1, $2, $3, $4, $5, $6, $7, @NOW_US@, 0) ON CONFLICT DO NOTHING;

-- name: user_change
-- in:  $1 name text, $2 title text, $3 password text, $4 roles text, $5 disabled int
UPDATE login_user SET title = $2, password = $3, roles = $4, disabled = $5 WHERE name = $1;

-- name: user_came
-- in:  $1 name text, $2 password text
-- With a password: only if it is still the stored one.
UPDATE login_user SET login_us = @NOW_US@
WHERE name = $1 AND disabled = 0 AND (CAST($2 AS text) = '' OR password = $2);

-- name: user_drop
-- in:  $1 name text
DELETE FROM login_user WHERE name = $1;

-- name: session_all
-- in:  $1 idle_us int
-- out: id, name, address, agent, made_us, seen_us, expires_us, idle_us, left_us
-- How long ago it was seen, and how long it may last, by the clock of the store.
SELECT id, name, address, agent, made_us, seen_us, expires_us, @NOW_US@ - seen_us, expires_us - @NOW_US@
FROM login_session WHERE expires_us > @NOW_US@ AND seen_us > @NOW_US@ - $1 ORDER BY made_us DESC, id;

-- name: session_add
-- in:  $1 id bytes, $2 name text, $3 lasts_us int, $4 address text, $5 agent text
INSERT INTO login_session(id, name, made_us, seen_us, expires_us, address, agent)
VALUES ($1, $2, @NOW_US@, @NOW_US@, @NOW_US@ + $3, $4, $5);

-- name: session_seen
-- in:  $1 id bytes, $2 ago_us int
UPDATE login_session SET seen_us = @NOW_US@ - $2 WHERE id = $1 AND seen_us < @NOW_US@ - $2;

-- name: session_drop
-- in:  $1 id bytes
DELETE FROM login_session WHERE id = $1;

-- name: session_drop_of
-- in:  $1 name text, $2 but bytes
-- All sessions of a user but one.
DELETE FROM login_session WHERE name = $1 AND id <> $2;

-- name: session_forget
-- in:  $1 idle_us int
DELETE FROM login_session WHERE expires_us <= @NOW_US@ OR seen_us <= @NOW_US@ - $1;

-- name: session_crowd
-- in:  $1 name text, $2 keep int
-- Keeps the newest sessions of a user.
DELETE FROM login_session WHERE name = $1 AND id NOT IN
    (SELECT id FROM login_session WHERE name = $1 ORDER BY made_us DESC, id LIMIT $2);

-- name: invite_add
-- in:  $1 id bytes, $2 name text, $3 lasts_us int
INSERT INTO login_link(id, name, expires_us) VALUES ($1, $2, @NOW_US@ + $3);

-- name: invite_one
-- in:  $1 id bytes
SELECT name FROM login_link WHERE id = $1 AND expires_us > @NOW_US@;

-- name: invite_count
-- in:  $1 name text
SELECT count(*) FROM login_link WHERE name = $1 AND expires_us > @NOW_US@;

-- name: invite_drop_of
-- in:  $1 name text
DELETE FROM login_link WHERE name = $1;

-- name: invite_forget
DELETE FROM login_link WHERE expires_us <= @NOW_US@;
