-- 0013_role - what people and machines may do through the admin API.

-- Roles that somebody made; built-in ones have no row.  rights: words, with a blank between; systems:
-- names, one a line, NULL: all of them.
CREATE TABLE role(
    name TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, rights TEXT NOT NULL, systems TEXT,
    made_us @INT@ NOT NULL, made_by TEXT NOT NULL) @CLUSTERED@;

-- Counts the changes of roles and of who has them, so that nodes notice.
INSERT INTO mark(name, value) VALUES ('right', 0);
