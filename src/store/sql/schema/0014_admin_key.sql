-- 0014_admin_key - keys for the admin API.

-- The secret is kept as its SHA-256 only.  roles: names, with a blank between; expires_us 0: never;
-- used_us: when it was last used, by the minute, 0: not yet.
CREATE TABLE admin_key(
    name TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL UNIQUE, secret @BYTES@ NOT NULL, roles TEXT NOT NULL,
    expires_us @INT@ NOT NULL, used_us @INT@ NOT NULL DEFAULT 0, made_us @INT@ NOT NULL,
    made_by TEXT NOT NULL) @CLUSTERED@;
