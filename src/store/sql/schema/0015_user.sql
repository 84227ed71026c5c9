-- 0015_user - people who log in, their sessions, and links by which they choose a password.

-- password: argon2id as text, empty: none.  roles: names with a blank between them.  iss and sub:
-- who it is elsewhere (OpenID Connect), empty: nobody.  login_us 0: never.
CREATE TABLE login_user(
    name TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, password TEXT NOT NULL, roles TEXT NOT NULL,
    disabled @INT@ NOT NULL, iss TEXT NOT NULL, sub TEXT NOT NULL, made_us @INT@ NOT NULL,
    login_us @INT@ NOT NULL) @CLUSTERED@;
CREATE UNIQUE INDEX login_user_by_sub ON login_user(iss, sub) WHERE iss <> '';

-- id: the SHA-256 of what the browser has.
CREATE TABLE login_session(
    id @BYTES@ NOT NULL PRIMARY KEY, name TEXT NOT NULL, made_us @INT@ NOT NULL,
    seen_us @INT@ NOT NULL, expires_us @INT@ NOT NULL, address TEXT NOT NULL,
    agent TEXT NOT NULL) @CLUSTERED@;
CREATE INDEX login_session_by_name ON login_session(name, made_us);

-- name: whose password is chosen; empty: of the first user, who is made then.
CREATE TABLE login_link(
    id @BYTES@ NOT NULL PRIMARY KEY, name TEXT NOT NULL, expires_us @INT@ NOT NULL) @CLUSTERED@;

-- Grows with every change of these, so that nodes notice.
INSERT INTO mark(name, value) VALUES ('login', 0);
