-- 0010_batch - documents that are sent as one.

-- state is enum batch_state (store/batch/batch.h): 0 open, 1 closing, 2 closed, 3 ended.  At most one is open per
-- name, route, receiver and part; after it is closed the next member opens another.  why, closed_by:
-- how it was closed; slot_us: the schedule time that closed it, 0: none.  doc: the document built from
-- it.  node_id, claim, until_us: the builder; due_us: not before then; code, message: why building
-- failed.
CREATE TABLE batch(
    num @ROWKEY@, name @INT@ NOT NULL, route @INT@ NOT NULL, receiver @INT@ NOT NULL, part TEXT NOT NULL,
    state @INT@ NOT NULL, config @INT@ NOT NULL, members @INT@ NOT NULL, bytes @INT@ NOT NULL,
    opened_us @INT@ NOT NULL, closed_us @INT@ NOT NULL DEFAULT 0, ended_us @INT@ NOT NULL DEFAULT 0,
    why @INT@ NOT NULL DEFAULT 0, closed_by TEXT NOT NULL DEFAULT '', slot_us @INT@ NOT NULL DEFAULT 0,
    doc @INT@ NOT NULL DEFAULT 0, doc_id @BYTES@,
    node_id @INT@ NOT NULL DEFAULT 0, claim @INT@ NOT NULL DEFAULT 0, until_us @INT@ NOT NULL DEFAULT 0,
    due_us @INT@ NOT NULL DEFAULT 0, tries @INT@ NOT NULL DEFAULT 0, code TEXT, message TEXT) @PLAIN@;
CREATE UNIQUE INDEX batch_open ON batch(name, route, receiver, part) WHERE state = 0;
CREATE INDEX batch_by_state ON batch(state, num);
CREATE INDEX batch_by_name ON batch(name, num);
CREATE INDEX batch_by_doc ON batch(doc) WHERE doc > 0;

-- Members of batches that have not ended: live documents without a task.  b_*: the joining payload, if
-- steps changed the bytes (store/payload/payload.h).
CREATE TABLE batch_member(
    batch @INT@ NOT NULL, doc @INT@ NOT NULL, size @INT@ NOT NULL,
    b_seg @INT@, b_pos @INT@, b_num @INT@, b_sha256 @BYTES@,
    PRIMARY KEY(batch, doc)) @CLUSTERED@;
CREATE INDEX batch_member_by_doc ON batch_member(doc);

-- The last schedule time for which a batch (name id) was closed.
CREATE TABLE batch_clock(name @ROWKEY@, slot_us @INT@ NOT NULL) @PLAIN@;
