-- 0022_aloft - deliveries that a node has in memory for long, for all nodes to see.

-- Only slow flights have rows here (store/road/aloft.h).  id: of the delivery; task: the claimed task, whose settlement
-- deletes the row; sending: 1 it is being sent, 0 it waits in memory for its turn.
CREATE TABLE aloft(
    doc @INT@ NOT NULL, id TEXT NOT NULL, task @INT@ NOT NULL, node_id @INT@ NOT NULL, endpoint @INT@ NOT NULL,
    system @INT@ NOT NULL, sending @INT@ NOT NULL, since_us @INT@ NOT NULL, PRIMARY KEY(doc, id)) @CLUSTERED@;
