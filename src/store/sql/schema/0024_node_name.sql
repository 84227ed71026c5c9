-- 0024_node_name - the names of nodes, for as long as timelines speak of them.

-- A node gets a new number with each start, and its row in `node` goes when it is dead.
CREATE TABLE node_name(node_id @INT@ PRIMARY KEY, name TEXT NOT NULL, started_us @INT@ NOT NULL);
INSERT INTO node_name(node_id, name, started_us) SELECT node_id, host, started_us FROM node;
