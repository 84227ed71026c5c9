-- Documents made of a claimed one (store/road/offspring.h).

-- name: offspring_get
-- in:  $1 doc int
-- out: made, total, config, earlier
-- config 0: nothing is made yet, or not since it started again.
SELECT made, total, CASE WHEN made = 0 THEN 0 ELSE config END, earlier FROM offspring WHERE doc = $1;

-- name: offspring_put
-- in:  $1 doc int, $2 made int, $3 total int, $4 config int
INSERT INTO offspring(doc, made, total, config) VALUES ($1, $2, $3, $4)
ON CONFLICT(doc) DO UPDATE SET made = excluded.made, total = excluded.total, config = excluded.config;

-- name: offspring_parent
-- in:  $1 num int
-- out: gateway, caller, seq, child, span, again, head
SELECT gateway, caller, seq, child, span, again, head FROM doc WHERE num = $1;

-- name: doc_add_child
-- in:  $1 num int, $2 id bytes, $3 gateway int, $4 caller int, $5 config int, $6 received int, $7 size int,
--      $8 sha256 bytes, $9 seg int, $10 pos int, $11 name text, $12 ctype text, $13 head bytes, $14 seq int,
--      $15 child int, $16 span int, $17 sender int, $18 receiver int, $19 dtype int, $20 facts bytes, $21 trail bytes
-- batch
INSERT INTO doc(num, id, gateway, caller, config, received_us, size, sha256, seg, pos, name, ctype, head, seq,
    child, span, sender, receiver, dtype, facts, trail)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21);

-- name: offspring_purged
-- in:  $1 doc int, $2 n int
-- batch
-- Of the parts of a document so many are purged.
UPDATE offspring SET gone = gone + $2 WHERE doc = $1;

-- name: offspring_purged
-- for: postgresql
-- in:  $1 doc int, $2 n int
-- batch
UPDATE offspring o SET gone = gone + u.c2 FROM @ROWS@ WHERE o.doc = @KEY(u.c1)@;

-- name: offspring_drop
-- in:  $1 doc int
-- batch
DELETE FROM offspring WHERE doc = $1;

-- name: offspring_drop
-- for: postgresql
-- in:  $1 doc int
-- batch
DELETE FROM offspring WHERE doc = ANY ($1::bigint[]);

-- name: offspring_anew
-- in:  $1 doc int
-- It starts again, and makes its parts again.
UPDATE offspring SET earlier = earlier + made, made = 0, total = 0 WHERE doc = $1;

-- name: offspring_slice
-- in:  $1 above int, $2 most int
-- out: @slice@
SELECT @slice@ FROM (SELECT doc AS num FROM offspring WHERE doc > $1 ORDER BY doc LIMIT $2) AS slice;

-- name: offspring_wrong
-- in:  $1 above int, $2 upto int
-- Documents that have more or fewer parts than were committed, or more than there are.  Kind 5 is LINK_SPLIT (road/link.h).
SELECT count(*) FROM offspring o WHERE o.doc > $1 AND o.doc <= $2 AND (o.made > o.total AND o.total > 0
    OR o.made + o.earlier - o.gone <> (SELECT count(*) FROM link l WHERE l.parent = o.doc AND l.kind = 5));
