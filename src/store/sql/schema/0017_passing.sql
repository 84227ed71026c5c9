-- 0017_passing - tables with a high turnover are looked up by their keys alone.

-- only: postgresql
-- These tables are often empty.  After a vacuum of an empty table the planner considers all indices equally cheap,
-- even one with the wanted number in second position, which is scanned completely (store/db/sql.h).  So no
-- index has it there, except partial ones whose condition such a query lacks.
DROP INDEX doc_by_gateway;
CREATE INDEX doc_by_gateway ON doc(gateway, num) WHERE gateway <> 0;
DROP INDEX delivery_by_doc;
CREATE INDEX delivery_by_doc ON delivery(doc);

-- They fill again at once: truncating them would lock out everybody for nothing.
ALTER TABLE doc SET (vacuum_truncate=false);
ALTER TABLE delivery SET (vacuum_truncate=false);
ALTER TABLE task_lease SET (vacuum_truncate=false);
-- end
