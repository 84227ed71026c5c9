-- 0037_set_record - records that documents leave behind (store/road/set_record.h).

-- set_id: name id of the set.  version: a number that no other value of any record has.  doc: the document that it is
-- from, 0: none.
CREATE TABLE IF NOT EXISTS set_record(
    set_id @INT@ NOT NULL, key @BYTES@ NOT NULL, value @BYTES@ NOT NULL, version @INT@ NOT NULL, doc @INT@ NOT NULL,
    updated_us @INT@ NOT NULL, PRIMARY KEY(set_id, key)) @CLUSTERED@;
