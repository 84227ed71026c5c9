-- 0019_sizes - live documents are compared by their size without looking at their rows.

-- only: postgresql
-- Their rows lie far apart when most others have ended: each is a read of its own.
ALTER TABLE doc DROP CONSTRAINT doc_pkey, ADD CONSTRAINT doc_pkey PRIMARY KEY (num) INCLUDE (size);
-- end
