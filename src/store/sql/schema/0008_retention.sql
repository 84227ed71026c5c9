-- 0008_retention - purging, legal holds, the archive.

-- Documents that are never purged.
CREATE TABLE kept(
    num @ROWKEY@, id @BYTES@ NOT NULL, reason TEXT NOT NULL, made_by TEXT NOT NULL,
    made_us @INT@ NOT NULL) @PLAIN@;

-- Payloads of purged documents (store/retention/retain.h).  state 0: a segment with purged entries;
-- 1: unreferenced, its bytes may still exist.  pos: 0 for a segment.
CREATE TABLE payload_gone(
    seg @INT@ NOT NULL, pos @INT@ NOT NULL, state @INT@ NOT NULL,
    PRIMARY KEY(seg, pos)) @CLUSTERED@;

-- Verified archives of days: documents that ended until upto_us.  sha256 is that of the
-- manifest.
CREATE TABLE archive(
    day @INT@ NOT NULL, part @INT@ NOT NULL, folder TEXT NOT NULL, name TEXT NOT NULL,
    sha256 @BYTES@ NOT NULL, first_num @INT@ NOT NULL, last_num @INT@ NOT NULL,
    documents @INT@ NOT NULL, bytes @INT@ NOT NULL, upto_us @INT@ NOT NULL,
    made_us @INT@ NOT NULL, PRIMARY KEY(day, part)) @CLUSTERED@;

-- The guard against clock jumps (core/retain_rule.h), and the last confirmed day.
INSERT INTO mark(name, value) VALUES ('retain_since', 0), ('retain_day', 0), ('retain_count', 0),
    ('retain_present', 0), ('retain_today', 0);

-- only: sqlite
-- New places of segment entries that were copied so that the old segment could be deleted.
CREATE TABLE moved(
    seg INTEGER NOT NULL, pos INTEGER NOT NULL, to_seg INTEGER NOT NULL, to_pos INTEGER NOT NULL,
    PRIMARY KEY(seg, pos)) STRICT, WITHOUT ROWID;
CREATE INDEX moved_by_target ON moved(to_seg, to_pos);
-- end
