-- 0011_restore - a restored store sends nothing until a person chooses.

-- Restores.  taken_us: when the backup was taken; upto: documents up to this number are from it;
-- rule is enum restore_rule, 0: not chosen yet; done_us 0: nothing is sent.
CREATE TABLE restore(
    num @ROWKEY@, made_us @INT@ NOT NULL, taken_us @INT@ NOT NULL, source TEXT NOT NULL,
    upto @INT@ NOT NULL, rule @INT@ NOT NULL DEFAULT 0, chosen_us @INT@ NOT NULL DEFAULT 0,
    chosen_by TEXT NOT NULL DEFAULT '', done_us @INT@ NOT NULL DEFAULT 0) @PLAIN@;

-- The identity of the store, on any machine: its backups have the same number.
-- only: sqlite
INSERT INTO mark(name, value) SELECT 'store', abs(random() / 2) + 1;
-- end
-- only: postgresql
INSERT INTO mark(name, value) SELECT 'store', (random() * 4611686018427387904)::bigint + 1;
-- end
