-- Edits: a document made by a person, instead of another or beside it (store/manual/edit.h).  Numeric
-- states as in core/state.h.

-- name: edit_doc
-- in:  $1 num int
-- out: id, received_us, seq, child, span
SELECT id, received_us, seq, child, span FROM doc WHERE num = $1 @FOR_UPDATE@;

-- name: edit_done
-- in:  $1 num int
-- out: id, state
SELECT id, state FROM done_@SLOT@ WHERE num = $1 @FOR_UPDATE@;

-- name: edit_note_done
-- in:  $1 num int, $2 state int, $3 trail bytes
-- Appends a timeline line to an ended original.
UPDATE done_@SLOT@ SET state = $2,
    trail = CASE WHEN trail IS NULL THEN $3 WHEN length(trail) + length($3) > 262144 THEN trail
                 ELSE CAST(trail || $3 AS BLOB) END
WHERE num = $1;

-- name: edit_note_done
-- for: postgresql
-- in:  $1 num int, $2 state int, $3 trail bytes
UPDATE done_@SLOT@ SET state = $2,
    trail = CASE WHEN trail IS NULL THEN $3::bytea WHEN length(trail) + length($3::bytea) > 262144 THEN trail
                 ELSE trail || $3::bytea END
WHERE num = $1;

-- name: edit_begin
-- in:  $1 num int, $2 sender int, $3 receiver int, $4 dtype int, $5 facts bytes, $6 trail bytes,
--      $7 child int, $8 span int
-- The facts of the new document before its first run, and the place that it takes among the children of a document.
UPDATE doc SET sender = $2, receiver = $3, dtype = $4, facts = $5, trail = $6, child = $7, span = $8 WHERE num = $1;
