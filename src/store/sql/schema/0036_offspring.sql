-- 0036_offspring - documents made of a document, many at a time (store/road/offspring.h).

-- A document that is made into parts: how many of them are committed (made), of how many (total, 0: not known yet), how
-- many were made before a person let it start again (earlier), how many of all of them were purged since (gone), and the
-- configuration version that makes them.  The row goes with the document.
CREATE TABLE IF NOT EXISTS offspring(
    doc @ROWKEY@, made @INT@ NOT NULL, total @INT@ NOT NULL, earlier @INT@ NOT NULL DEFAULT 0,
    gone @INT@ NOT NULL DEFAULT 0, config @INT@ NOT NULL) @PLAIN@;

-- Children of a numbered document have its number (seq).  Their order within it is child: those made of a document
-- lie between its own child and child + span.  NULL: it came in through a gateway, 0 and the widest span.
-- only: sqlite
ALTER TABLE doc ADD COLUMN child @INT@;
ALTER TABLE doc ADD COLUMN span @INT@;
CREATE TABLE order_open_of(
    gateway @INT@ NOT NULL, seq @INT@ NOT NULL, child @INT@ NOT NULL DEFAULT 0,
    PRIMARY KEY(gateway, seq, child)) @CLUSTERED@;
INSERT INTO order_open_of(gateway, seq) SELECT gateway, seq FROM order_open;
DROP TABLE order_open;
ALTER TABLE order_open_of RENAME TO order_open;
-- end
-- only: postgresql
ALTER TABLE doc ADD COLUMN IF NOT EXISTS child @INT@;
ALTER TABLE doc ADD COLUMN IF NOT EXISTS span @INT@;
ALTER TABLE order_open ADD COLUMN IF NOT EXISTS child @INT@ NOT NULL DEFAULT 0;
ALTER TABLE order_open DROP CONSTRAINT IF EXISTS order_open_pkey, ADD PRIMARY KEY (gateway, seq, child);
-- end
