-- 0004_govern - reasons to wait: facts about systems and nodes, never stored with deliveries.

-- Holds of systems.  until_us 0: without an end; ended_us 0: it has not ended.
CREATE TABLE hold(
    num @ROWKEY@, system @INT@ NOT NULL, from_us @INT@ NOT NULL, until_us @INT@ NOT NULL,
    reason TEXT NOT NULL, owner TEXT NOT NULL, made_us @INT@ NOT NULL, reminded_us @INT@ NOT NULL,
    ended_us @INT@ NOT NULL DEFAULT 0, ended_by TEXT NOT NULL DEFAULT '') @PLAIN@;
CREATE INDEX hold_by_end ON hold(ended_us, num);

-- The nodes that follow a hold, and what each was sending when it began to: ids, one per line.
CREATE TABLE hold_seen(
    hold @INT@ NOT NULL, node_id @INT@ NOT NULL, sending TEXT NOT NULL,
    PRIMARY KEY(hold, node_id)) @CLUSTERED@;

-- Pauses of a node, or of every node (0); what is enum pause_what.
CREATE TABLE pause(
    node_id @INT@ NOT NULL, what @INT@ NOT NULL, reason TEXT NOT NULL, made_by TEXT NOT NULL,
    made_us @INT@ NOT NULL, PRIMARY KEY(node_id, what)) @CLUSTERED@;

-- Counts changes of holds and pauses; also issues the numbers of holds.
INSERT INTO mark(name, value) VALUES ('hold', 0);

-- In doubt.  intent_us: time of the intent to send whose outcome is not known yet, 0: none;
-- asked: number of probes without a clear answer.
ALTER TABLE delivery ADD COLUMN intent_us @INT@ NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN asked @INT@ NOT NULL DEFAULT 0;

-- Rate limits of systems: the next unreserved time of each schedule (core/rate.h), in
-- nanoseconds.
CREATE TABLE rate_bucket(system @ROWKEY@, next_ns @INT@ NOT NULL) @PLAIN@;

-- When a waiting delivery expires; 0: never, or it no longer waits.  The index has only rows
-- that expire.
ALTER TABLE delivery ADD COLUMN expires_us @INT@ NOT NULL DEFAULT 0;
CREATE INDEX delivery_by_expiry ON delivery(expires_us, num) WHERE expires_us > 0;
