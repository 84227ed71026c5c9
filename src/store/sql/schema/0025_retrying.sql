-- 0025_retrying - documents that are retried are found without reading those that only wait.

-- A delivery that succeeds at its first attempt never has an entry here.
-- only: sqlite
CREATE INDEX delivery_retrying ON delivery(doc) WHERE state = 3;
-- end
-- only: postgresql
-- Negated for the reason that 0018_trouble has.
CREATE INDEX delivery_retrying ON delivery((-doc)) WHERE state = 3;
-- end
