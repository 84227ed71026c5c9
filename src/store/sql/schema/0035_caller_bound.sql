-- 0035_caller_bound - whom a sender's key is for, from where and until when it works, and its last use.

-- systems: names of the systems whose documents it may send, separated by blanks; empty: of any.
-- networks: the addresses that it works from, in the same way.  expires_us 0: never.
-- used_us: last use, by the minute, 0: never.
-- only: sqlite
ALTER TABLE caller ADD COLUMN systems TEXT NOT NULL DEFAULT '';
ALTER TABLE caller ADD COLUMN networks TEXT NOT NULL DEFAULT '';
ALTER TABLE caller ADD COLUMN expires_us @INT@ NOT NULL DEFAULT 0;
ALTER TABLE caller ADD COLUMN used_us @INT@ NOT NULL DEFAULT 0;
-- end
-- only: postgresql
ALTER TABLE caller ADD COLUMN IF NOT EXISTS systems TEXT NOT NULL DEFAULT '';
ALTER TABLE caller ADD COLUMN IF NOT EXISTS networks TEXT NOT NULL DEFAULT '';
ALTER TABLE caller ADD COLUMN IF NOT EXISTS expires_us @INT@ NOT NULL DEFAULT 0;
ALTER TABLE caller ADD COLUMN IF NOT EXISTS used_us @INT@ NOT NULL DEFAULT 0;
-- end
