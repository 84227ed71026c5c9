-- 0005_order - deliveries in order.

-- The place of a document in the order of acceptance, one row of numbers for the whole store;
-- 0: it was accepted while no system was ordered.
ALTER TABLE doc ADD COLUMN seq @INT@ NOT NULL DEFAULT 0;

-- Numbered documents that are not routed yet: what stands behind them may not go.
CREATE TABLE order_open(
    gateway @INT@ NOT NULL, seq @INT@ NOT NULL, PRIMARY KEY(gateway, seq)) @CLUSTERED@;

-- lane: of an ordered system (engine/road/order.c), 0: none.  Its deliveries stand in the order of (seq,
-- child).  turn: 1 it waits in its lane, without a task; 2 it has left the queue, and its task
-- carries it on: one of a lane at most; 0 it is not in the lane (any more).  prio: of that task.
ALTER TABLE delivery ADD COLUMN lane @INT@ NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN seq @INT@ NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN child @INT@ NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN turn @INT@ NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN prio @INT@ NOT NULL DEFAULT 0;
CREATE INDEX delivery_by_lane ON delivery(lane, turn, seq, child, num) WHERE turn > 0;

-- only: postgresql
-- Locked by every accept that numbers documents, so that the numbers follow the commits.
CREATE TABLE order_seq(value BIGINT NOT NULL) WITH (fillfactor=50);
INSERT INTO order_seq(value) VALUES (0);
ALTER TABLE order_open SET (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000,
    autovacuum_vacuum_cost_delay=0);
-- end
