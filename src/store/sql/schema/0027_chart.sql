-- 0027_chart - a day of numbers of all nodes, for charts, the map and counts.

-- Steps of 10 seconds, one row for each node that ran: what it counted, and how many deliveries waited in the store.
CREATE TABLE chart(
    at_us @INT@ NOT NULL, node_id @INT@ NOT NULL, accepted @INT@ NOT NULL, delivered @INT@ NOT NULL,
    dead @INT@ NOT NULL, retrying @INT@ NOT NULL, waiting @INT@ NOT NULL, PRIMARY KEY(at_us, node_id)) @CLUSTERED@;

-- Counts of minutes.  kind, one, two: what was counted (store/watch/chart.h); name ids.
CREATE TABLE chart_count(
    at_us @INT@ NOT NULL, kind @INT@ NOT NULL, one @INT@ NOT NULL, two @INT@ NOT NULL, node_id @INT@ NOT NULL,
    n @INT@ NOT NULL, PRIMARY KEY(at_us, kind, one, two, node_id)) @CLUSTERED@;
