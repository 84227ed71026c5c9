-- 0001_first - the store.
--
-- To change the schema add a file 0002_what.sql: it runs once, whole, in one
-- transaction with the new version number.  Never edit a file that was released.
--
-- Times are microseconds UTC.  `num` counts documents (and later deliveries) in
-- the order in which they were accepted; a document's id carries it.

-- Numbers that only grow: num (SQLite), epoch, word, caller, indexed (the index watermark).
CREATE TABLE mark(name TEXT PRIMARY KEY, value @INT@ NOT NULL) @PLAIN@;
INSERT INTO mark(name, value) VALUES ('num', 0), ('epoch', 0), ('word', 0), ('caller', 0), ('indexed', 0);

-- Name ids: names from the configuration as small integers; kind is enum word_kind.
CREATE TABLE word(
    id @ROWKEY@, kind @INT@ NOT NULL, name TEXT NOT NULL, UNIQUE(kind, name)) @PLAIN@;

-- Running processes.  state: 0 alive, 2 dead (the fence: a dead node can write nothing).
CREATE TABLE node(
    node_id @ROWKEY@, epoch @INT@ NOT NULL, host TEXT NOT NULL, pid @INT@ NOT NULL,
    area TEXT NOT NULL, address TEXT NOT NULL, state @INT@ NOT NULL,
    started_us @INT@ NOT NULL, alive_until_us @INT@ NOT NULL) @PLAIN@;

CREATE TABLE config(
    version @ROWKEY@, made_us @INT@ NOT NULL, made_by TEXT NOT NULL, note TEXT,
    sha256 @BYTES@ NOT NULL, body TEXT NOT NULL) @PLAIN@;

-- Keys of senders: only the SHA-256 of the secret is stored.
CREATE TABLE caller(
    id @ROWKEY@, name TEXT NOT NULL UNIQUE, gateway @INT@ NOT NULL, title TEXT,
    secret @BYTES@ NOT NULL, made_us @INT@ NOT NULL) @PLAIN@;

-- Live documents.  seg, pos: where the payload is (store/payload/payload.h).
CREATE TABLE doc(
    num @ROWKEY@, id @BYTES@ NOT NULL, gateway @INT@ NOT NULL, caller @INT@ NOT NULL,
    config @INT@ NOT NULL, received_us @INT@ NOT NULL, size @INT@ NOT NULL,
    sha256 @BYTES@ NOT NULL, seg @INT@ NOT NULL, pos @INT@ NOT NULL,
    name TEXT, ctype TEXT, head @BYTES@) @PLAIN@;

-- Tasks: the table is the state.  ready -> lease -> later | dead | deleted.
-- Rows are inserted and deleted, never updated; the key is the claim order.
CREATE TABLE task_ready(
    queue @INT@ NOT NULL, prio @INT@ NOT NULL, rank @INT@ NOT NULL, id @INT@ NOT NULL,
    kind @INT@ NOT NULL, attempts @INT@ NOT NULL, rescues @INT@ NOT NULL, crashes @INT@ NOT NULL,
    PRIMARY KEY(queue, prio, rank, id)) @CLUSTERED@;

CREATE TABLE task_later(
    due_us @INT@ NOT NULL, id @INT@ NOT NULL, queue @INT@ NOT NULL, prio @INT@ NOT NULL,
    kind @INT@ NOT NULL, attempts @INT@ NOT NULL, rescues @INT@ NOT NULL, crashes @INT@ NOT NULL,
    error TEXT, PRIMARY KEY(due_us, id)) @CLUSTERED@;

CREATE TABLE task_dead(
    id @ROWKEY@, queue @INT@ NOT NULL, prio @INT@ NOT NULL, kind @INT@ NOT NULL,
    died_us @INT@ NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL,
    attempts @INT@ NOT NULL, rescues @INT@ NOT NULL, crashes @INT@ NOT NULL) @PLAIN@;

-- Claimed tasks.  On SQLite the one process keeps its claims in memory and this
-- table is empty.
CREATE TABLE task_lease(
    id @ROWKEY@, claim @INT@ NOT NULL, node_id @INT@ NOT NULL, until_us @INT@ NOT NULL,
    queue @INT@ NOT NULL, prio @INT@ NOT NULL, rank @INT@ NOT NULL, kind @INT@ NOT NULL,
    attempts @INT@ NOT NULL, rescues @INT@ NOT NULL, crashes @INT@ NOT NULL) @PLAIN@;

-- The existing numbered tables; family is enum part_family, value depends on the family.
CREATE TABLE part(
    family @INT@ NOT NULL, slot @INT@ NOT NULL, value @INT@ NOT NULL DEFAULT 0,
    PRIMARY KEY(family, slot)) @CLUSTERED@;

-- Durable counters: one row per node, writer and counted thing, so that no row is contended.
CREATE TABLE tally(
    node_id @INT@ NOT NULL, writer @INT@ NOT NULL, kind @INT@ NOT NULL, word @INT@ NOT NULL,
    n @INT@ NOT NULL, PRIMARY KEY(node_id, writer, kind, word)) @CLUSTERED@;

-- only: sqlite
-- Payloads in files of their own, and the document of each: a file without a row is
-- left over from a crash.
CREATE TABLE large(pos INTEGER PRIMARY KEY, num INTEGER NOT NULL) STRICT;

-- The asynchronous index: covers everything up to mark `indexed`.
CREATE TABLE facet(
    kind INTEGER NOT NULL, word INTEGER NOT NULL, num INTEGER NOT NULL,
    PRIMARY KEY(kind, word, num)) STRICT, WITHOUT ROWID;
-- end
-- only: postgresql
-- Rows of several nodes commit out of order, so a watermark would be wrong
-- here; and an index costs PostgreSQL little.
CREATE SEQUENCE num_block INCREMENT 128 MINVALUE 128 START 128;
CREATE SEQUENCE claim_number;
CREATE INDEX doc_by_gateway ON doc(gateway, num);

-- The writers of each node.  Every group updates the row of its writer: the fence, and the
-- token that shows whether the group was committed.
CREATE TABLE node_writer(node_id BIGINT NOT NULL, writer BIGINT NOT NULL, dead BIGINT NOT NULL,
    token BIGINT NOT NULL, PRIMARY KEY(node_id, writer));

CREATE TABLE payload(num BIGINT PRIMARY KEY, bytes BYTEA NOT NULL);
ALTER TABLE payload ALTER bytes SET STORAGE EXTERNAL;
-- Large payloads in pieces of 256 KiB, under an upload that accept adopts.
CREATE TABLE payload_piece(upload BIGINT NOT NULL, piece BIGINT NOT NULL, bytes BYTEA NOT NULL,
    PRIMARY KEY(upload, piece));
ALTER TABLE payload_piece ALTER bytes SET STORAGE EXTERNAL;
CREATE TABLE payload_upload(upload BIGINT PRIMARY KEY, node_id BIGINT NOT NULL, started_us BIGINT NOT NULL);

ALTER TABLE task_ready SET (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000,
    autovacuum_vacuum_cost_delay=0);
ALTER TABLE task_lease SET (fillfactor=70, autovacuum_vacuum_scale_factor=0,
    autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0);
ALTER TABLE node SET (fillfactor=50);
ALTER TABLE node_writer SET (fillfactor=50, autovacuum_vacuum_scale_factor=0,
    autovacuum_vacuum_threshold=5000);
ALTER TABLE tally SET (fillfactor=50);
-- end
