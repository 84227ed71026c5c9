-- 0018_trouble - documents with an error are found without reading those that only wait.

-- A delivery that succeeds at its first attempt never has a code and no entry here.
-- only: sqlite
CREATE INDEX delivery_in_trouble ON delivery(doc) WHERE code <> '';
-- end
-- only: postgresql
-- Indexes the negated document number under a condition that no other query has: a plan may be made while the table
-- looks empty and all indices look equally cheap.  So its one query (trouble_nums) cannot use another index, and no
-- other query can use this one.
CREATE INDEX delivery_in_trouble ON delivery((-doc)) WHERE code <> '';
-- end
