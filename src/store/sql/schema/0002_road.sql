-- 0002_road - documents move: facts, timelines, deliveries, what goes wrong.

-- What was found in a document.  sender, receiver, dtype and route are words, 0: none;
-- facts holds attributes and names that are not configured (core/facts.h), trail the
-- timeline (core/trail.h); again counts how often it was started again under new delivery ids.
ALTER TABLE doc ADD COLUMN sender @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN receiver @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN dtype @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN route @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN again @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN updated_us @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN facts @BYTES@;
ALTER TABLE doc ADD COLUMN trail @BYTES@;

-- Deliveries of live documents, once they had to wait or to be kept; state is enum
-- delivery_state.  b_*: bytes of its own, where a step changed them (store/payload/payload.h).
CREATE TABLE delivery(
    num @ROWKEY@, doc @INT@ NOT NULL, id TEXT NOT NULL, endpoint @INT@ NOT NULL,
    system @INT@ NOT NULL, queue @INT@ NOT NULL, state @INT@ NOT NULL, attempts @INT@ NOT NULL,
    first_us @INT@ NOT NULL, due_us @INT@ NOT NULL, updated_us @INT@ NOT NULL,
    code TEXT, message TEXT, name TEXT, status @INT@ NOT NULL,
    b_seg @INT@, b_pos @INT@, b_num @INT@, b_size @INT@, b_sha256 @BYTES@) @PLAIN@;
CREATE INDEX delivery_by_doc ON delivery(doc, num);

CREATE INDEX task_dead_by_code ON task_dead(code, id);

-- What every node should know of an endpoint: breaker 1, or a pause that its receiver asked for, 0.
CREATE TABLE endpoint_state(
    endpoint @INT@ NOT NULL, breaker @INT@ NOT NULL, node_id @INT@ NOT NULL,
    since_us @INT@ NOT NULL, until_us @INT@ NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY(endpoint, breaker)) @CLUSTERED@;

-- What went wrong, counted: one row per code and object.
CREATE TABLE mishap(
    code TEXT NOT NULL, object TEXT NOT NULL, message TEXT NOT NULL, n @INT@ NOT NULL,
    first_us @INT@ NOT NULL, last_us @INT@ NOT NULL, PRIMARY KEY(code, object)) @CLUSTERED@;

-- Values that configurations name and nobody reads back.
CREATE TABLE secret(
    name TEXT NOT NULL PRIMARY KEY, sealed @BYTES@ NOT NULL, fingerprint TEXT NOT NULL,
    made_us @INT@ NOT NULL, made_by TEXT NOT NULL) @CLUSTERED@;
INSERT INTO mark(name, value) VALUES ('secret', 0);

-- Polling gateways: whose turn it is, and what `after: keep` has taken.
CREATE TABLE poll_turn(
    gateway @ROWKEY@, node_id @INT@ NOT NULL, until_us @INT@ NOT NULL) @PLAIN@;
CREATE TABLE ledger(
    gateway @INT@ NOT NULL, key @BYTES@ NOT NULL, seen_us @INT@ NOT NULL,
    PRIMARY KEY(gateway, key)) @CLUSTERED@;

-- only: sqlite
-- The index behind the write, as one number each: kind << 60 | word << 40 | num.  Documents
-- are also found by sender, receiver and type now: it is filled anew.
DROP TABLE facet;
CREATE TABLE facet(key INTEGER PRIMARY KEY) STRICT;
UPDATE mark SET value = 0 WHERE name = 'indexed';
-- end
