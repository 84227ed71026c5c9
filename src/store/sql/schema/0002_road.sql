-- 0002_road - processing: facts, timelines, deliveries, mishaps.

-- Extracted values.  sender, receiver, dtype and route are name ids, 0: none;
-- facts holds attributes and names that are not configured (core/facts.h), trail the
-- timeline (core/timeline.h); again counts restarts under new delivery ids.
ALTER TABLE doc ADD COLUMN sender @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN receiver @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN dtype @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN route @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN again @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN updated_us @INT@ NOT NULL DEFAULT 0;
ALTER TABLE doc ADD COLUMN facts @BYTES@;
ALTER TABLE doc ADD COLUMN trail @BYTES@;

-- Deliveries of live documents that had to wait or to be stored; state is enum
-- delivery_state.  b_*: a payload of its own, if a step changed the bytes (store/payload/payload.h).
CREATE TABLE delivery(
    num @ROWKEY@, doc @INT@ NOT NULL, id TEXT NOT NULL, endpoint @INT@ NOT NULL,
    system @INT@ NOT NULL, queue @INT@ NOT NULL, state @INT@ NOT NULL, attempts @INT@ NOT NULL,
    first_us @INT@ NOT NULL, due_us @INT@ NOT NULL, updated_us @INT@ NOT NULL,
    code TEXT, message TEXT, name TEXT, status @INT@ NOT NULL,
    b_seg @INT@, b_pos @INT@, b_num @INT@, b_size @INT@, b_sha256 @BYTES@) @PLAIN@;
CREATE INDEX delivery_by_doc ON delivery(doc, num);

CREATE INDEX task_dead_by_code ON task_dead(code, id);

-- Shared state of an endpoint: breaker 1 is its breaker, 0 a pause that its receiver asked for.
CREATE TABLE endpoint_state(
    endpoint @INT@ NOT NULL, breaker @INT@ NOT NULL, node_id @INT@ NOT NULL,
    since_us @INT@ NOT NULL, until_us @INT@ NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY(endpoint, breaker)) @CLUSTERED@;

-- Counted failures: one row per code and object.
CREATE TABLE mishap(
    code TEXT NOT NULL, object TEXT NOT NULL, message TEXT NOT NULL, n @INT@ NOT NULL,
    first_us @INT@ NOT NULL, last_us @INT@ NOT NULL, PRIMARY KEY(code, object)) @CLUSTERED@;

-- Write-only values that configurations refer to by name.
CREATE TABLE secret(
    name TEXT NOT NULL PRIMARY KEY, sealed @BYTES@ NOT NULL, fingerprint TEXT NOT NULL,
    made_us @INT@ NOT NULL, made_by TEXT NOT NULL) @CLUSTERED@;
INSERT INTO mark(name, value) VALUES ('secret', 0);

-- Polling gateways: which node polls, and the files that `after: keep` has accepted.
CREATE TABLE poll_turn(
    gateway @ROWKEY@, node_id @INT@ NOT NULL, until_us @INT@ NOT NULL) @PLAIN@;
CREATE TABLE ledger(
    gateway @INT@ NOT NULL, key @BYTES@ NOT NULL, seen_us @INT@ NOT NULL,
    PRIMARY KEY(gateway, key)) @CLUSTERED@;

-- only: sqlite
-- The asynchronous index, one integer per entry: kind << 60 | name id << 40 | num.  It now also
-- covers sender, receiver and type, so it is rebuilt.
DROP TABLE facet;
CREATE TABLE facet(key INTEGER PRIMARY KEY) STRICT;
UPDATE mark SET value = 0 WHERE name = 'indexed';
-- end
