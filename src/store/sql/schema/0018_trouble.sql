-- 0018_trouble - documents with an error are found without looking at those that only wait.

-- A delivery that goes out at its first attempt never has a code: it costs those nothing.
-- only: sqlite
CREATE INDEX delivery_in_trouble ON delivery(doc) WHERE code <> '';
-- end
-- only: postgresql
-- Minus the document, and a condition that nobody else asks for: a plan may be made when the table looks empty and
-- all its indices alike.  So the one question that is asked of it (trouble_nums) has no other index to go by, and
-- no other question can go through it.
CREATE INDEX delivery_in_trouble ON delivery((-doc)) WHERE code <> '';
-- end
