-- 0039_set_record_before - what a record had before, and the place of its document in the order (store/road/set_record.h).

-- previous: the value before; NULL: there was none.  gateway, seq, child: of the document, as in doc; 0: it has no number.
-- only: sqlite
ALTER TABLE set_record ADD COLUMN previous @BYTES@;
ALTER TABLE set_record ADD COLUMN gateway @INT@ NOT NULL DEFAULT 0;
ALTER TABLE set_record ADD COLUMN seq @INT@ NOT NULL DEFAULT 0;
ALTER TABLE set_record ADD COLUMN child @INT@ NOT NULL DEFAULT 0;
-- end
-- only: postgresql
ALTER TABLE set_record ADD COLUMN IF NOT EXISTS previous @BYTES@;
ALTER TABLE set_record ADD COLUMN IF NOT EXISTS gateway @INT@ NOT NULL DEFAULT 0;
ALTER TABLE set_record ADD COLUMN IF NOT EXISTS seq @INT@ NOT NULL DEFAULT 0;
ALTER TABLE set_record ADD COLUMN IF NOT EXISTS child @INT@ NOT NULL DEFAULT 0;
-- end
