-- 0013_role - what people and machines may do through the admin API.

-- Custom roles; built-in ones have no row.  rights: names, separated by blanks; systems:
-- names, one per line, NULL: all systems.
CREATE TABLE role(
    name TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, rights TEXT NOT NULL, systems TEXT,
    made_us @INT@ NOT NULL, made_by TEXT NOT NULL) @CLUSTERED@;

-- Counts changes of roles and their assignment; nodes compare it to detect changes.
INSERT INTO mark(name, value) VALUES ('right', 0);
