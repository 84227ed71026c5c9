-- 0050_replica_apart - rows that have lost are listed at both locations of a link (store/replica/conflict.h).

-- peer: the location whose link has decided it; empty: this one.  told: 1, the other location has it as it stands here.
-- only: sqlite
ALTER TABLE replica_set_aside ADD COLUMN peer TEXT NOT NULL DEFAULT '';
ALTER TABLE replica_set_aside ADD COLUMN told @INT@ NOT NULL DEFAULT 1;
-- end
-- only: postgresql
ALTER TABLE replica_set_aside ADD COLUMN IF NOT EXISTS peer TEXT NOT NULL DEFAULT '';
ALTER TABLE replica_set_aside ADD COLUMN IF NOT EXISTS told @INT@ NOT NULL DEFAULT 1;
-- end
CREATE INDEX IF NOT EXISTS replica_set_aside_untold ON replica_set_aside(link, table_name, id) WHERE kind = 'conflict' AND told = 0;
CREATE INDEX IF NOT EXISTS replica_set_aside_by_peer ON replica_set_aside(peer) WHERE peer <> '';
