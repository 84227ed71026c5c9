-- 0015_user - users, their sessions, and invitation links to choose a password.

-- password: argon2id as text, empty: none.  roles: names, separated by blanks.  iss and sub:
-- the identity at the provider (OpenID Connect), empty: none.  login_us 0: never.
CREATE TABLE login_user(
    name TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, password TEXT NOT NULL, roles TEXT NOT NULL,
    disabled @INT@ NOT NULL, iss TEXT NOT NULL, sub TEXT NOT NULL, made_us @INT@ NOT NULL,
    login_us @INT@ NOT NULL) @CLUSTERED@;
CREATE UNIQUE INDEX login_user_by_sub ON login_user(iss, sub) WHERE iss <> '';

-- id: the SHA-256 of the cookie.
CREATE TABLE login_session(
    id @BYTES@ NOT NULL PRIMARY KEY, name TEXT NOT NULL, made_us @INT@ NOT NULL,
    seen_us @INT@ NOT NULL, expires_us @INT@ NOT NULL, address TEXT NOT NULL,
    agent TEXT NOT NULL) @CLUSTERED@;
CREATE INDEX login_session_by_name ON login_session(name, made_us);

-- name: the user who chooses a password; empty: the first user, who is created then.
CREATE TABLE login_link(
    id @BYTES@ NOT NULL PRIMARY KEY, name TEXT NOT NULL, expires_us @INT@ NOT NULL) @CLUSTERED@;

-- Counts changes of these tables; nodes compare it to detect changes.
INSERT INTO mark(name, value) VALUES ('login', 0);
