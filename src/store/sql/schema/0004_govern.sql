-- 0004_govern - why deliveries wait: facts about systems and nodes, never written to deliveries.

-- Ad hoc holds of systems.  until_us 0: without an end; ended_us 0: it has not ended.
CREATE TABLE hold(
    num @ROWKEY@, system @INT@ NOT NULL, from_us @INT@ NOT NULL, until_us @INT@ NOT NULL,
    reason TEXT NOT NULL, owner TEXT NOT NULL, made_us @INT@ NOT NULL, reminded_us @INT@ NOT NULL,
    ended_us @INT@ NOT NULL DEFAULT 0, ended_by TEXT NOT NULL DEFAULT '') @PLAIN@;
CREATE INDEX hold_by_end ON hold(ended_us, num);

-- Which nodes go by a hold, and what each was sending when it began to: ids, one a line.
CREATE TABLE hold_seen(
    hold @INT@ NOT NULL, node_id @INT@ NOT NULL, sending TEXT NOT NULL,
    PRIMARY KEY(hold, node_id)) @CLUSTERED@;

-- What a node, or every node (0), does not do now; what is enum pause_what.
CREATE TABLE pause(
    node_id @INT@ NOT NULL, what @INT@ NOT NULL, reason TEXT NOT NULL, made_by TEXT NOT NULL,
    made_us @INT@ NOT NULL, PRIMARY KEY(node_id, what)) @CLUSTERED@;

-- Counts the changes of holds and pauses; a hold takes its number from it.
INSERT INTO mark(name, value) VALUES ('hold', 0);

-- In doubt.  intent_us: when a send was about to begin whose outcome is not known yet, 0: none;
-- asked: how often its receiver was asked whether it has it, without a clear answer.
ALTER TABLE delivery ADD COLUMN intent_us @INT@ NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN asked @INT@ NOT NULL DEFAULT 0;

-- Rates of systems: the next time of each timeline that nobody has reserved (core/rate.h), in
-- nanoseconds.
CREATE TABLE rate_bucket(system @ROWKEY@, next_ns @INT@ NOT NULL) @PLAIN@;

-- When a delivery that waits expires; 0: never, or it does not wait any more.  Only those that
-- expire are in the index.
ALTER TABLE delivery ADD COLUMN expires_us @INT@ NOT NULL DEFAULT 0;
CREATE INDEX delivery_by_expiry ON delivery(expires_us, num) WHERE expires_us > 0;
