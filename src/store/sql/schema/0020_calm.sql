-- 0020_calm - tidying up behind large tables does not keep those waiting who commit.

-- only: postgresql
-- By itself a vacuum writes 30 MB/s, and a disk that is busy with that lets a commit wait for 200 ms.  With this it
-- writes up to 8 MB/s, enough for payloads of 3 MB/s that come and go, all day.
ALTER TABLE payload SET (autovacuum_vacuum_cost_delay=10);
ALTER TABLE payload_piece SET (autovacuum_vacuum_cost_delay=10);

-- Tables of days that are there already, as document.sql makes new ones (done_untidied).
DO $$
DECLARE day BIGINT;
BEGIN
    FOR day IN SELECT slot FROM part WHERE family IN (2, 3) AND slot <> 1000000 LOOP
        EXECUTE format('ALTER TABLE IF EXISTS done_%s SET (autovacuum_vacuum_scale_factor=100,'
            ' autovacuum_analyze_scale_factor=1, autovacuum_vacuum_cost_delay=10)', day);
    END LOOP;
END $$;
-- end
