-- 0020_calm - vacuuming large tables does not delay commits.

-- only: postgresql
-- By default a vacuum writes 30 MB/s, and a commit on a disk that busy takes 200 ms.  With this setting it
-- writes up to 8 MB/s, enough for a sustained 3 MB/s of payloads that come and go.
ALTER TABLE IF EXISTS payload SET (autovacuum_vacuum_cost_delay=10);
ALTER TABLE payload_piece SET (autovacuum_vacuum_cost_delay=10);
-- end

-- Tables of days that are there already, as document.sql makes new ones (done_untidied).
-- each: done postgresql
ALTER TABLE done_@SLOT@ SET (autovacuum_vacuum_scale_factor=100, autovacuum_analyze_scale_factor=1,
    autovacuum_vacuum_cost_delay=10);
-- end
-- only: postgresql
-- The table of what is kept (RETAIN_KEPT_DAY) never leaves.
ALTER TABLE IF EXISTS done_1000000 RESET (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor,
    autovacuum_vacuum_cost_delay);
-- end
