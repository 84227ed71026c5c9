-- 0012_audit - the audit log: a hash chain of lines, each written in the transaction of its change.

-- seq has no gaps.  was, became: the object before and after, as short texts.  hash is the SHA-256 of
-- the line and of prev, the hash of the line before (store/audit/audit.h).
CREATE TABLE audit(
    seq @ROWKEY@, time_us @INT@ NOT NULL, actor TEXT NOT NULL, kind TEXT NOT NULL, address TEXT NOT NULL,
    action TEXT NOT NULL, object TEXT NOT NULL, was TEXT NOT NULL, became TEXT NOT NULL,
    reason TEXT NOT NULL, prev @BYTES@ NOT NULL, hash @BYTES@ NOT NULL) @PLAIN@;
CREATE INDEX audit_by_time ON audit(time_us, seq);
CREATE INDEX audit_by_actor ON audit(actor, time_us, seq);
CREATE INDEX audit_by_action ON audit(action, time_us, seq);
CREATE INDEX audit_by_object ON audit(object, time_us, seq);

-- The last line, and the last purged one; a writer locks the row of the first.
INSERT INTO mark(name, value) VALUES ('audit', 0), ('audit_gone', 0);
