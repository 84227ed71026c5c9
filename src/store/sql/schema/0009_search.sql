-- 0009_search - search by attributes, names, sizes, states and errors.

-- The document of a dead task: dead letters are searched by it, newest first.
ALTER TABLE task_dead ADD COLUMN doc @INT@ NOT NULL DEFAULT 0;
UPDATE task_dead SET doc = coalesce((SELECT v.doc FROM delivery v WHERE v.num = task_dead.id), task_dead.id);

-- Attributes and names that are not configured, as hashes (store/road/term.h): key is the slot of the
-- number and the hash, so that documents of the same time are stored together.
CREATE TABLE term(key @INT@ NOT NULL, num @INT@ NOT NULL, PRIMARY KEY(key, num)) @CLUSTERED@;

-- only: sqlite
-- Covers the compared columns: errors are searched without reading the table.
CREATE INDEX task_dead_by_doc ON task_dead(doc, code, message);
-- File names, truncated; slot is the range of the number.
CREATE TABLE name_index(
    slot INTEGER NOT NULL, name BLOB NOT NULL, num INTEGER NOT NULL,
    PRIMARY KEY(slot, name, num)) STRICT, WITHOUT ROWID;
-- The asynchronous index now has sizes, too, and fills the tables above: it is rebuilt.
DELETE FROM facet;
UPDATE mark SET value = 0 WHERE name = 'indexed';
-- end
-- only: postgresql
CREATE INDEX task_dead_by_doc ON task_dead(doc);
-- For live documents only extracted values and names (which few have) are indexed, so accepting
-- costs as much as before.
CREATE INDEX doc_by_sender ON doc(sender, num) WHERE sender <> 0;
CREATE INDEX doc_by_receiver ON doc(receiver, num) WHERE receiver <> 0;
CREATE INDEX doc_by_type ON doc(dtype, num) WHERE dtype <> 0;
CREATE INDEX doc_by_name ON doc((num >> 18), left(name, 64) text_pattern_ops, num) WHERE name IS NOT NULL;
-- end

-- As done_index does for tables to come.
-- each: done postgresql
CREATE INDEX done_@SLOT@_by_sender ON done_@SLOT@(sender, num) WHERE sender <> 0;
CREATE INDEX done_@SLOT@_by_receiver ON done_@SLOT@(receiver, num) WHERE receiver <> 0;
CREATE INDEX done_@SLOT@_by_type ON done_@SLOT@(dtype, num) WHERE dtype <> 0;
CREATE INDEX done_@SLOT@_by_size ON done_@SLOT@((floor(ln(size::float8 + 1) * 8)::bigint), num);
CREATE INDEX done_@SLOT@_by_name ON done_@SLOT@((num >> 18), left(name, 64) text_pattern_ops, num) WHERE name IS NOT NULL;
CREATE INDEX done_@SLOT@_by_state ON done_@SLOT@(state, num) WHERE state <> 6;
-- end
