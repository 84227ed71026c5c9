-- 0020_calm - tidying up behind large tables does not keep those waiting who commit.

-- only: postgresql
-- By itself a vacuum writes 30 MB/s, and a disk that is busy with that lets a commit wait for 200 ms.  A fifth of it
-- is enough for 1000 documents a second that come and go (document.sql has the same for tables of days).
ALTER TABLE payload SET (autovacuum_vacuum_cost_delay=10);
-- end
