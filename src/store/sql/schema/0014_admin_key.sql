-- 0014_admin_key - keys for the admin API.

-- Only the SHA-256 of the secret is stored.  roles: names, separated by blanks; expires_us 0: never;
-- used_us: last use, by the minute, 0: never.
CREATE TABLE admin_key(
    name TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL UNIQUE, secret @BYTES@ NOT NULL, roles TEXT NOT NULL,
    expires_us @INT@ NOT NULL, used_us @INT@ NOT NULL DEFAULT 0, made_us @INT@ NOT NULL,
    made_by TEXT NOT NULL) @CLUSTERED@;
