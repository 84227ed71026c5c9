-- 0009_search - documents are found by more: attributes, names, sizes, states, what is wrong.

-- The document that a dead task is about: dead letters are found by it, newest first.
ALTER TABLE task_dead ADD COLUMN doc @INT@ NOT NULL DEFAULT 0;
UPDATE task_dead SET doc = coalesce((SELECT v.doc FROM delivery v WHERE v.num = task_dead.id), task_dead.id);

-- Attributes and names that are not configured, as hashes (store/road/term.h): key is where the number
-- stands and the hash, so that what comes in together is stored together.
CREATE TABLE term(key @INT@ NOT NULL, num @INT@ NOT NULL, PRIMARY KEY(key, num)) @CLUSTERED@;

-- only: sqlite
-- With what is compared: errors are looked for without reading the table.
CREATE INDEX task_dead_by_doc ON task_dead(doc, code, message);
-- File names, cut; slot is where the number stands.
CREATE TABLE name_index(
    slot INTEGER NOT NULL, name BLOB NOT NULL, num INTEGER NOT NULL,
    PRIMARY KEY(slot, name, num)) STRICT, WITHOUT ROWID;
-- The index behind the write has sizes, too, and fills the tables above: it is filled anew.
DELETE FROM facet;
UPDATE mark SET value = 0 WHERE name = 'indexed';
-- end
-- only: postgresql
CREATE INDEX task_dead_by_doc ON task_dead(doc);
-- Of live documents only what a run found is indexed, and names, which few have: accepting a
-- document costs as much as before.
CREATE INDEX doc_by_sender ON doc(sender, num) WHERE sender <> 0;
CREATE INDEX doc_by_receiver ON doc(receiver, num) WHERE receiver <> 0;
CREATE INDEX doc_by_type ON doc(dtype, num) WHERE dtype <> 0;
CREATE INDEX doc_by_name ON doc((num >> 18), left(name, 64) text_pattern_ops, num) WHERE name IS NOT NULL;

-- As done_index does for tables to come.
DO $$
DECLARE p record;
BEGIN
    FOR p IN SELECT slot FROM part WHERE family = 2 LOOP
        EXECUTE format('CREATE INDEX done_%1$s_by_sender ON done_%1$s(sender, num) WHERE sender <> 0', p.slot);
        EXECUTE format('CREATE INDEX done_%1$s_by_receiver ON done_%1$s(receiver, num) WHERE receiver <> 0', p.slot);
        EXECUTE format('CREATE INDEX done_%1$s_by_type ON done_%1$s(dtype, num) WHERE dtype <> 0', p.slot);
        EXECUTE format('CREATE INDEX done_%1$s_by_size ON done_%1$s((floor(ln(size::float8 + 1) * 8)::bigint), num)', p.slot);
        EXECUTE format('CREATE INDEX done_%1$s_by_name ON done_%1$s((num >> 18), left(name, 64) text_pattern_ops, num) WHERE name IS NOT NULL', p.slot);
        EXECUTE format('CREATE INDEX done_%1$s_by_state ON done_%1$s(state, num) WHERE state <> 6', p.slot);
    END LOOP;
END $$;
-- end
