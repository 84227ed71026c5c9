-- Documents derived from documents (store/road/link.h).

-- name: link_add
-- in:  $1 parent int, $2 kind int, $3 child int
-- batch
INSERT INTO link(parent, kind, child) VALUES ($1, $2, $3);

-- name: link_children
-- in:  $1 parent int, $2 kind int, $3 child int, $4 last int, $5 limit int
-- out: kind, child
-- Behind a place, up to the last kind that is asked for.
SELECT kind, child FROM link WHERE parent = $1 AND (kind, child) > ($2, $3) AND kind <= $4
ORDER BY kind, child LIMIT $5;

-- name: link_parents
-- in:  $1 child int, $2 kind int, $3 limit int
SELECT parent FROM link WHERE child = $1 AND kind = $2 ORDER BY parent LIMIT $3;
