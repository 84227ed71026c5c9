-- 0026_allot - the concurrency of a system is that of all nodes together.

-- n: how many slots of a system a node may fill; of all live nodes together at most its concurrency, unless that was
-- lowered.  wants 1: the node would use more.  node_id 0: the row that is locked while slots are allotted.
CREATE TABLE allot(
    system @INT@ NOT NULL, node_id @INT@ NOT NULL, n @INT@ NOT NULL, wants @INT@ NOT NULL,
    PRIMARY KEY(system, node_id)) @CLUSTERED@;
