-- 0019_sizes - live documents are compared by size without reading their rows.

-- only: postgresql
-- Their rows are scattered once most others have ended: each would be a separate read.
ALTER TABLE doc DROP CONSTRAINT doc_pkey, ADD CONSTRAINT doc_pkey PRIMARY KEY (num) INCLUDE (size);
-- end
