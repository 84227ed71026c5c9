-- 0005_order - ordered delivery.

-- The position of a document in the order of acceptance, one sequence for the whole store;
-- 0: accepted while no system was ordered.
ALTER TABLE doc ADD COLUMN seq @INT@ NOT NULL DEFAULT 0;

-- Numbered documents that are not routed yet: deliveries after them must wait.
CREATE TABLE order_open(
    gateway @INT@ NOT NULL, seq @INT@ NOT NULL, PRIMARY KEY(gateway, seq)) @CLUSTERED@;

-- lane: of an ordered system (engine/road/order.c), 0: none.  Its deliveries are ordered by (seq,
-- child).  turn: 1 waits in its lane, without a task; 2 is the head, with a task: at most one
-- per lane; 0 not in the lane, or no longer.  prio: of that task.
ALTER TABLE delivery ADD COLUMN lane @INT@ NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN seq @INT@ NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN child @INT@ NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN turn @INT@ NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN prio @INT@ NOT NULL DEFAULT 0;
CREATE INDEX delivery_by_lane ON delivery(lane, turn, seq, child, num) WHERE turn > 0;

-- only: postgresql
-- Locked by every accept that numbers documents, so that numbers are in commit order.
CREATE TABLE order_seq(value BIGINT NOT NULL) WITH (fillfactor=50);
INSERT INTO order_seq(value) VALUES (0);
ALTER TABLE order_open SET (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000,
    autovacuum_vacuum_cost_delay=0);
-- end
