-- 0023_folder - what a node knows of the folders outside that gateways and endpoints use.

-- owner: the name id of the gateway or endpoint; part: the key that names the folder.  fs, fsid, ino,
-- dev: base/known_folder.h.  accepted_us 0: nobody has accepted it, it is as it was first seen.
CREATE TABLE folder(
    node_id @INT@ NOT NULL, owner @INT@ NOT NULL, part TEXT NOT NULL, path TEXT NOT NULL,
    fs @INT@ NOT NULL, fsid @INT@ NOT NULL, ino @INT@ NOT NULL, dev @INT@ NOT NULL, mount @INT@ NOT NULL,
    seen_us @INT@ NOT NULL, accepted_us @INT@ NOT NULL DEFAULT 0, accepted_by TEXT NOT NULL DEFAULT '',
    PRIMARY KEY(node_id, owner, part)) @CLUSTERED@;
