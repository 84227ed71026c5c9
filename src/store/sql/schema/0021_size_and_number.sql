-- 0021_size_and_number - a search by size reads only matching index entries.

-- As document.sql makes it for tables to come (done_index_size).
-- each: done postgresql
DROP INDEX IF EXISTS done_@SLOT@_by_size;
CREATE INDEX done_@SLOT@_by_size ON done_@SLOT@(((floor(ln(size::float8 + 1) * 8)::bigint << 40) + num)) INCLUDE (num, size);
-- end
