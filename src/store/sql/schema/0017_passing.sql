-- 0017_passing - tables through which everything passes are looked up by their keys alone.

-- only: postgresql
-- These tables are empty again and again.  To a planner that was told so by a vacuum every index costs
-- the same, also one in which the number that is asked for stands second and that is read whole
-- (store/db/sql.h).  So no index has it there, except for those with a condition that such a question lacks.
DROP INDEX doc_by_gateway;
CREATE INDEX doc_by_gateway ON doc(gateway, num) WHERE gateway <> 0;
DROP INDEX delivery_by_doc;
CREATE INDEX delivery_by_doc ON delivery(doc);

-- They fill again at once: to cut them off is a lock on everybody for nothing.
ALTER TABLE doc SET (vacuum_truncate=false);
ALTER TABLE delivery SET (vacuum_truncate=false);
ALTER TABLE task_lease SET (vacuum_truncate=false);
-- end
