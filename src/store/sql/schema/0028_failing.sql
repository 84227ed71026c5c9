-- 0028_failing - what a node cannot run, for the other nodes to see.

-- word: the name id of a gateway whose looks fail there, or of an endpoint that is held there for a
-- reason of the node's own.  A row lasts as long as the trouble; rows of dead nodes do not count.
CREATE TABLE failing(
    word @INT@ NOT NULL, node_id @INT@ NOT NULL, since_us @INT@ NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY(word, node_id)) @CLUSTERED@;
