-- 0034_allot_turn - nodes that wait for a slot get one in turn.

-- Counts the requests of a system in the row of node 0.  In the row of a node that wants slots and has none it is the
-- request by which it came to wait.
-- only: sqlite
ALTER TABLE allot ADD COLUMN turn @INT@ NOT NULL DEFAULT 0;
-- end
-- only: postgresql
ALTER TABLE allot ADD COLUMN IF NOT EXISTS turn @INT@ NOT NULL DEFAULT 0;
-- end
