-- 0011_restore - what came out of a backup sends nothing until a person chooses.

-- Restores.  taken_us: when the backup was taken; upto: documents numbered up to it came out of it;
-- rule is enum restore_rule, 0: nobody has chosen; done_us 0: nothing is sent.
CREATE TABLE restore(
    num @ROWKEY@, made_us @INT@ NOT NULL, taken_us @INT@ NOT NULL, source TEXT NOT NULL,
    upto @INT@ NOT NULL, rule @INT@ NOT NULL DEFAULT 0, chosen_us @INT@ NOT NULL DEFAULT 0,
    chosen_by TEXT NOT NULL DEFAULT '', done_us @INT@ NOT NULL DEFAULT 0) @PLAIN@;

-- Which store this is, whatever machine it is on: a backup of it has the same number.
-- only: sqlite
INSERT INTO mark(name, value) SELECT 'store', abs(random() / 2) + 1;
-- end
-- only: postgresql
INSERT INTO mark(name, value) SELECT 'store', (random() * 4611686018427387904)::bigint + 1;
-- end
