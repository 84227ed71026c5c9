-- 0020_calm - vacuuming large tables does not delay commits.

-- only: postgresql
-- By default a vacuum writes 30 MB/s, and a commit on a disk that busy takes 200 ms.  With this setting it
-- writes up to 8 MB/s, enough for a sustained 3 MB/s of payloads that come and go.
ALTER TABLE payload SET (autovacuum_vacuum_cost_delay=10);
ALTER TABLE payload_piece SET (autovacuum_vacuum_cost_delay=10);

-- Existing tables of days; document.sql sets it for new ones (done_untidied).
DO $$
DECLARE day BIGINT;
BEGIN
    FOR day IN SELECT slot FROM part WHERE family IN (2, 3) AND slot <> 1000000 LOOP
        EXECUTE format('ALTER TABLE IF EXISTS done_%s SET (autovacuum_vacuum_scale_factor=100,'
            ' autovacuum_analyze_scale_factor=1, autovacuum_vacuum_cost_delay=10)', day);
    END LOOP;
END $$;
-- end
