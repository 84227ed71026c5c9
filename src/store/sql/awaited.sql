-- Answers that are awaited (store/road/awaited.h).

-- name: awaited_add
-- in:  $1 doc int, $2 delivery text, $3 endpoint int, $4 system int, $5 due int
-- batch
INSERT INTO awaited(doc, delivery, endpoint, system, due_us) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT(doc, delivery) DO UPDATE SET due_us = excluded.due_us;

-- name: awaited_answered
-- in:  $1 doc int, $2 system int, $3 delivery text
-- The system has answered the document, or this delivery of it.
DELETE FROM awaited WHERE doc = $1 AND system = $2 AND ($3 = '' OR delivery = $3);

-- name: awaited_has
-- in:  $1 doc int, $2 system int, $3 delivery text
-- An answer of the system is awaited: to this, or to anything of the document.
SELECT count(*) FROM awaited WHERE doc = $1 AND system = $2 AND ($3 = '' OR delivery = $3);

-- name: awaited_link
-- in:  $1 parent int, $2 child int
-- Kind 4 is LINK_ANSWER (road/link.h).  A document that runs again has its link already.
INSERT INTO link(parent, kind, child) VALUES ($1, 4, $2) ON CONFLICT DO NOTHING;

-- name: awaited_overdue
-- in:  $1 endpoint int, $2 after int, $3 now int, $4 most int
-- out: n, oldest, delivery
-- How many were due after `after` and by now, up to `most`, since when, and the first of them.
SELECT count(*), min(due_us), (SELECT a.delivery FROM awaited a WHERE a.endpoint = $1 AND a.due_us > $2
    AND a.due_us <= $3 ORDER BY a.due_us LIMIT 1)
FROM (SELECT due_us FROM awaited WHERE endpoint = $1 AND due_us > $2 AND due_us <= $3
    ORDER BY due_us LIMIT $4) AS late;

-- name: awaited_drop
-- in:  $1 doc int
-- batch
DELETE FROM awaited WHERE doc = $1;

-- name: awaited_drop
-- for: postgresql
-- in:  $1 doc int
-- batch
DELETE FROM awaited WHERE doc = ANY ($1::bigint[]);

-- name: awaited_docs
-- in:  $1 above int, $2 most int
-- Documents with waits that are not live.
SELECT DISTINCT doc FROM awaited
WHERE doc > $1 AND CASE WHEN EXISTS (SELECT 1 FROM doc d WHERE d.num = @KEY(awaited.doc)@) THEN 0 ELSE 1 END = 1
ORDER BY doc LIMIT $2;
