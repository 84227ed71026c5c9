-- Transactions, marks, name ids, numbered tables.

-- name: tx_begin
BEGIN IMMEDIATE;

-- name: tx_begin
-- for: postgresql
BEGIN;

-- name: tx_view
BEGIN;

-- name: tx_view
-- for: postgresql
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: tx_commit
COMMIT;

-- name: tx_rollback
ROLLBACK;

-- name: session_set
-- only: postgresql
-- in:  $1 name text, $2 value text
SELECT set_config($1, $2, false);

-- name: session_examine
-- only: postgresql
-- in:  $1 name text
-- out: setting, system, timeline
-- A setting, and which server this is (pg_lineage.h).  The timeline is that of the log file being written.
SELECT current_setting($1) AS setting, system_identifier AS system,
    ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint AS timeline
FROM pg_control_system();

-- name: statement_drop
-- only: postgresql
-- The driver numbers its prepared statements.
DEALLOCATE w@SLOT@;

-- name: table_count
-- only: sqlite
SELECT count(*) FROM sqlite_master;

-- name: mark_get
-- in:  $1 name text
SELECT value FROM mark WHERE name = $1;

-- name: mark_take
-- in:  $1 name text, $2 count int
-- The value after taking.
UPDATE mark SET value = value + $2 WHERE name = $1 RETURNING value;

-- name: num_block
-- The last number of a block of 128 that nobody else gets.
UPDATE mark SET value = value + 128 WHERE name = 'num' RETURNING value;

-- name: num_block
-- for: postgresql
SELECT nextval('num_block');

-- name: num_last
-- No document has a higher number.
SELECT value FROM mark WHERE name = 'num';

-- name: num_last
-- for: postgresql
SELECT last_value FROM num_block;

-- name: mark_set
-- in:  $1 name text, $2 value int
UPDATE mark SET value = $2 WHERE name = $1;

-- name: mark_put
-- in:  $1 name text, $2 value int
INSERT INTO mark(name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: mark_raise
-- in:  $1 name text, $2 value int
UPDATE mark SET value = $2 WHERE name = $1 AND value < $2;

-- name: health_lock
-- Takes the locks that an accept takes, and changes nothing.
DELETE FROM doc WHERE num = -1;

-- name: health_write
-- only: sqlite
-- A change, so that the commit writes.
UPDATE mark SET value = value WHERE name = 'store';

-- name: word_all
-- out: id, kind, name
SELECT id, kind, name FROM word ORDER BY id;

-- name: word_find
-- in:  $1 kind int, $2 name text
SELECT id FROM word WHERE kind = $1 AND name = $2;

-- name: word_add
-- in:  $1 id int, $2 kind int, $3 name text
INSERT INTO word(id, kind, name) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: part_all
-- in:  $1 family int
SELECT slot FROM part WHERE family = $1 ORDER BY slot DESC;

-- name: part_has
-- only: postgresql
-- in:  $1 family int, $2 slot int
SELECT 1 FROM part WHERE family = $1 AND slot = $2;

-- name: part_below
-- in:  $1 family int, $2 slot int
SELECT max(slot) FROM part WHERE family = $1 AND slot < $2;

-- name: part_add
-- in:  $1 family int, $2 slot int
INSERT INTO part(family, slot) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: part_values
-- only: sqlite
-- in:  $1 family int
-- out: slot, value
SELECT slot, value FROM part WHERE family = $1 ORDER BY slot;

-- name: part_set
-- only: sqlite
-- in:  $1 family int, $2 slot int, $3 value int
UPDATE part SET value = $3 WHERE family = $1 AND slot = $2;

-- name: part_drop
-- in:  $1 family int, $2 slot int
DELETE FROM part WHERE family = $1 AND slot = $2;

-- name: schema_exists
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version';

-- name: schema_exists
-- for: postgresql
SELECT count(*) FROM information_schema.tables
WHERE table_schema = current_schema() AND table_name = 'schema_version';

-- name: schema_version
SELECT max(version) FROM schema_version;

-- name: schema_make
CREATE TABLE IF NOT EXISTS schema_version(version @INT@ PRIMARY KEY, name TEXT NOT NULL, made_us @INT@ NOT NULL);

-- name: schema_family
-- in:  $1 family text
-- The numbers of the tables FAMILY_N that exist.
SELECT CAST(substr(name, length($1) + 2) AS INTEGER) FROM sqlite_master
WHERE type = 'table' AND name GLOB $1 || '_[0-9]*' ORDER BY 1;

-- name: schema_family
-- for: postgresql
-- in:  $1 family text
SELECT substr(tablename, length($1) + 2)::bigint FROM pg_tables
WHERE schemaname = current_schema() AND tablename ~ ('^' || $1 || '_[0-9]+$') ORDER BY 1;

-- name: schema_patience
SELECT 1;

-- name: schema_patience
-- for: postgresql
-- Migrations have no time limit.
SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true);

-- name: schema_lock
SELECT 1;

-- name: schema_lock
-- for: postgresql
-- Nodes that start at the same time migrate one after the other.
SELECT pg_advisory_xact_lock(7305808868241270377);

-- name: schema_step
-- in:  $1 version int, $2 name text
INSERT INTO schema_version(version, name, made_us) VALUES ($1, $2, @NOW_US@);
