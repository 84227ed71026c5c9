-- 0030_told - the number of the last commit (store/kernel/told.h).

-- only: sqlite
INSERT INTO tally(node_id, writer, kind, word, n) VALUES (0, 0, 64, 0, 0);
-- end
