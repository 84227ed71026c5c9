-- 0048_replica - links of tables: rows set aside, orders, passes of verification (store/replica).

-- replica: the last number of a row of these tables.
INSERT INTO mark(name, value) VALUES ('replica', 0) ON CONFLICT(name) DO NOTHING;

-- A row of a link that could not be written.  digest: of link, table and key; a key may be too long for an index.
-- row: as it travels; empty: it was to be removed, or is not kept.  judged_by, judged_why: of the person who discarded it.
CREATE TABLE IF NOT EXISTS replica_set_aside(
    id @ROWKEY@, digest @BYTES@ NOT NULL, link TEXT NOT NULL, table_name TEXT NOT NULL, row_key @BYTES@ NOT NULL,
    row_bytes @BYTES@ NOT NULL, kind TEXT NOT NULL, why TEXT NOT NULL, x @INT@ NOT NULL, first_us @INT@ NOT NULL,
    last_us @INT@ NOT NULL, due_us @INT@ NOT NULL, tries @INT@ NOT NULL, discarded @INT@ NOT NULL DEFAULT 0,
    judged_by TEXT NOT NULL DEFAULT '', judged_why TEXT NOT NULL DEFAULT '') @PLAIN@;
CREATE UNIQUE INDEX IF NOT EXISTS replica_set_aside_by_key ON replica_set_aside(digest);
CREATE INDEX IF NOT EXISTS replica_set_aside_due ON replica_set_aside(link, table_name, due_us) WHERE discarded = 0;
CREATE INDEX IF NOT EXISTS replica_set_aside_by_table ON replica_set_aside(link, table_name, id) WHERE id > 0;
CREATE INDEX IF NOT EXISTS replica_set_aside_by_link ON replica_set_aside(link, id) WHERE id > 0;

-- What people want of a table, until a run has done it.  wish: 0 resync, 1 go on, 2 verify.
CREATE TABLE IF NOT EXISTS replica_order(
    id @ROWKEY@, link TEXT NOT NULL, table_name TEXT NOT NULL, wish @INT@ NOT NULL, detail TEXT NOT NULL,
    asked_by TEXT NOT NULL, why TEXT NOT NULL, at_us @INT@ NOT NULL) @PLAIN@;
CREATE UNIQUE INDEX IF NOT EXISTS replica_order_of ON replica_order(link, table_name, wish);

-- A pass of verification.  result: as in store/replica/pass.h; ended_us 0: it runs.  listed: rows of replica_finding.
CREATE TABLE IF NOT EXISTS replica_pass(
    id @ROWKEY@, link TEXT NOT NULL, table_name TEXT NOT NULL, rule TEXT NOT NULL, mode TEXT NOT NULL,
    repair @INT@ NOT NULL, dry_run @INT@ NOT NULL, result @INT@ NOT NULL, began_us @INT@ NOT NULL, ended_us @INT@ NOT NULL,
    next_key @BYTES@ NOT NULL, segments @INT@ NOT NULL, segments_bad @INT@ NOT NULL, rows_source @INT@ NOT NULL,
    rows_dest @INT@ NOT NULL, bytes @INT@ NOT NULL, missing @INT@ NOT NULL, extra @INT@ NOT NULL, different @INT@ NOT NULL,
    moving @INT@ NOT NULL, repaired @INT@ NOT NULL, skipped @INT@ NOT NULL, listed @INT@ NOT NULL DEFAULT 0,
    message TEXT NOT NULL, asked_by TEXT NOT NULL) @PLAIN@;
CREATE INDEX IF NOT EXISTS replica_pass_by_table ON replica_pass(link, table_name, id) WHERE id > 0;
CREATE INDEX IF NOT EXISTS replica_pass_by_link ON replica_pass(link, id) WHERE id > 0;
CREATE INDEX IF NOT EXISTS replica_pass_runs ON replica_pass(link, table_name, rule) WHERE ended_us = 0;

-- What a pass has found.  head: the first bytes of the key; rest: the digest of a key that is longer, which the index could
-- not take whole; else empty.
CREATE TABLE IF NOT EXISTS replica_finding(
    pass @INT@ NOT NULL, head @BYTES@ NOT NULL, rest @BYTES@ NOT NULL, row_key @BYTES@ NOT NULL, kind @INT@ NOT NULL,
    state @INT@ NOT NULL, hash_source @BYTES@ NOT NULL, hash_dest @BYTES@ NOT NULL, seen_x @INT@ NOT NULL,
    tries @INT@ NOT NULL, look_us @INT@ NOT NULL, PRIMARY KEY(pass, head, rest)) @CLUSTERED@;
