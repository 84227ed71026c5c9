-- 0021_size_and_number - a search by size reads only matching index entries.

-- only: postgresql
-- As document.sql does for new tables (done_index_size).
DO $$
DECLARE t record;
BEGIN
    FOR t IN SELECT tablename, indexname FROM pg_indexes WHERE schemaname = current_schema()
        AND indexname LIKE 'done\_%\_by\_size' LOOP
        EXECUTE format('DROP INDEX %I', t.indexname);
        EXECUTE format('CREATE INDEX %I ON %I(((floor(ln(size::float8 + 1) * 8)::bigint << 40) + num)) INCLUDE (num, size)',
            t.indexname, t.tablename);
    END LOOP;
END $$;
-- end
