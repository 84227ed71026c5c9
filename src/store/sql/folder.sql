-- Folders that gateways and endpoints use, as each node first saw them or a person accepted them.

-- columns folder: part, path, fs, fsid, ino, dev, mount, seen_us, accepted_us, accepted_by

-- name: folder_learn
-- in:  $1 node int, $2 owner int, $3 part text, $4 path text, $5 fs int, $6 fsid int, $7 ino int, $8 dev int, $9 mount int
-- A row of another path is replaced.  One of this path stays: another thread was first.
INSERT INTO folder(node_id, owner, part, path, fs, fsid, ino, dev, mount, seen_us)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, @NOW_US@)
ON CONFLICT (node_id, owner, part) DO UPDATE SET path = excluded.path, fs = excluded.fs, fsid = excluded.fsid,
    ino = excluded.ino, dev = excluded.dev, mount = excluded.mount, seen_us = excluded.seen_us,
    accepted_us = 0, accepted_by = ''
WHERE folder.path <> excluded.path;

-- name: folder_accept
-- in:  $1 node int, $2 owner int, $3 part text, $4 path text, $5 fs int, $6 fsid int, $7 ino int, $8 dev int, $9 mount int, $10 by text
UPDATE folder SET fs = $5, fsid = $6, ino = $7, dev = $8, mount = $9, accepted_us = @NOW_US@, accepted_by = $10
WHERE node_id = $1 AND owner = $2 AND part = $3 AND path = $4;

-- name: folder_one
-- in:  $1 node int, $2 owner int, $3 part text, $4 path text
-- out: @folder@
SELECT @folder@ FROM folder WHERE node_id = $1 AND owner = $2 AND part = $3 AND path = $4;

-- name: folder_all
-- in:  $1 node int, $2 owner int, $3 limit int
-- out: @folder@
SELECT @folder@ FROM folder WHERE node_id = $1 AND owner = $2 ORDER BY part LIMIT $3;

-- name: folder_inherit
-- in:  $1 from int, $2 to int
-- A restarted node knows what its predecessor knew.
UPDATE folder SET node_id = $2 WHERE node_id = $1;

-- name: folder_forget
-- in:  $1 age int
-- Folders of deleted nodes, after a grace time: a node that is down for a while keeps them.
DELETE FROM folder WHERE seen_us < @NOW_US@ - $1 AND accepted_us < @NOW_US@ - $1
AND NOT EXISTS (SELECT 1 FROM node n WHERE n.node_id = folder.node_id);
