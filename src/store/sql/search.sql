-- Finding documents: candidate numbers, newest first, and whether they match (search.h).

-- columns hit: num, fits
-- columns batch_hit: state, num, fits
-- columns indexed: num, gateway, sender, receiver, dtype, size, name, facts

-- name: doc_nums
-- in:  $1 below int, $2 limit int
-- out: @hit@
SELECT num, 1 FROM doc WHERE num < $1 ORDER BY num DESC LIMIT $2;

-- name: done_nums
-- in:  $1 below int, $2 limit int
-- out: @hit@
SELECT num, 1 FROM done_@SLOT@ WHERE num < $1 ORDER BY num DESC LIMIT $2;

-- name: doc_nums_of
-- only: postgresql
-- in:  $1 below int, $2 limit int, $3 kind int, $4 word int
-- out: @hit@
-- One of the branches is asked.  Compared and ordered as the index is, so that no plan goes by the
-- numbers alone: of a rare word it would look at every row.
(SELECT num, 1 FROM doc WHERE $3 = 1 AND (gateway, num) >= ($4, 0) AND (gateway, num) < ($4, $1) AND gateway <> 0
 ORDER BY gateway DESC, num DESC LIMIT $2)
UNION ALL
(SELECT num, 1 FROM doc WHERE $3 = 2 AND (sender, num) >= ($4, 0) AND (sender, num) < ($4, $1) AND sender <> 0
 ORDER BY sender DESC, num DESC LIMIT $2)
UNION ALL
(SELECT num, 1 FROM doc WHERE $3 = 3 AND (receiver, num) >= ($4, 0) AND (receiver, num) < ($4, $1) AND receiver <> 0
 ORDER BY receiver DESC, num DESC LIMIT $2)
UNION ALL
(SELECT num, 1 FROM doc WHERE $3 = 4 AND (dtype, num) >= ($4, 0) AND (dtype, num) < ($4, $1) AND dtype <> 0
 ORDER BY dtype DESC, num DESC LIMIT $2);

-- name: done_nums_of
-- only: postgresql
-- in:  $1 below int, $2 limit int, $3 kind int, $4 word int
-- out: @hit@
(SELECT num, 1 FROM done_@SLOT@ WHERE $3 = 1 AND (gateway, num) >= ($4, 0) AND (gateway, num) < ($4, $1)
 ORDER BY gateway DESC, num DESC LIMIT $2)
UNION ALL
(SELECT num, 1 FROM done_@SLOT@ WHERE $3 = 2 AND (sender, num) >= ($4, 0) AND (sender, num) < ($4, $1) AND sender <> 0
 ORDER BY sender DESC, num DESC LIMIT $2)
UNION ALL
(SELECT num, 1 FROM done_@SLOT@ WHERE $3 = 3 AND (receiver, num) >= ($4, 0) AND (receiver, num) < ($4, $1) AND receiver <> 0
 ORDER BY receiver DESC, num DESC LIMIT $2)
UNION ALL
(SELECT num, 1 FROM done_@SLOT@ WHERE $3 = 4 AND (dtype, num) >= ($4, 0) AND (dtype, num) < ($4, $1) AND dtype <> 0
 ORDER BY dtype DESC, num DESC LIMIT $2);

-- name: facet_nums
-- only: sqlite
-- in:  $1 below int, $2 limit int, $3 kind int, $4 word int
-- out: key, more
-- Lists, by their first number.
SELECT key & 1099511627775, more FROM facet
WHERE key >= ($3 << 60) + ($4 << 40) AND key < ($3 << 60) + ($4 << 40) + min($1, 1099511627775)
ORDER BY key DESC LIMIT $2;

-- name: doc_above
-- only: sqlite
-- in:  $1 below int, $2 limit int, $3 indexed int
-- out: @indexed@
-- What the index does not know yet.
SELECT @indexed@ FROM doc
WHERE num < $1 AND num > $3 ORDER BY num DESC LIMIT $2;

-- name: done_above
-- only: sqlite
-- in:  $1 below int, $2 limit int, $3 indexed int
-- out: @indexed@
SELECT @indexed@ FROM done_@SLOT@
WHERE num < $1 AND num > $3 ORDER BY num DESC LIMIT $2;

-- name: term_add
-- in:  $1 key int, $2 num int
-- batch
INSERT INTO term(key, num) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: term_nums
-- in:  $1 below int, $2 limit int, $3 key int
-- out: @hit@
SELECT num, 1 FROM term WHERE key = $3 AND num < $1 ORDER BY num DESC LIMIT $2;

-- name: term_below
-- in:  $1 key int
SELECT max(key) FROM term WHERE key < $1;

-- name: name_add
-- only: sqlite
-- in:  $1 slot int, $2 name bytes, $3 num int
INSERT INTO name_index(slot, name, num) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: name_nums
-- only: sqlite
-- in:  $1 below int, $2 limit int, $3 slot int, $4 from bytes, $5 to bytes
-- out: @hit@
SELECT num, 1 FROM name_index WHERE slot = $3 AND name >= $4 AND name <= $5 AND num < $1
ORDER BY num DESC LIMIT $2;

-- name: name_slot_below
-- only: sqlite
-- in:  $1 slot int
SELECT max(slot) FROM name_index WHERE slot < $1;

-- name: doc_names
-- only: postgresql
-- in:  $1 below int, $2 limit int, $3 from text, $4 to text
-- out: @hit@
-- Slot by slot: a slot is small enough to be put in order (and + 0 keeps a plan from going by the
-- numbers alone).
WITH RECURSIVE s(slot) AS (
    SELECT max(num >> 18) FROM doc WHERE name IS NOT NULL AND (num >> 18) <= ($1 >> 18)
    UNION ALL
    SELECT (SELECT max(d.num >> 18) FROM doc d WHERE d.name IS NOT NULL AND (d.num >> 18) < s.slot)
    FROM s WHERE s.slot IS NOT NULL)
SELECT n.num, 1 FROM s CROSS JOIN LATERAL (
    SELECT d.num FROM doc d WHERE d.name IS NOT NULL AND (d.num >> 18) = s.slot AND d.num < $1
        AND left(d.name, 64) ~>=~ $3 AND left(d.name, 64) ~<=~ $4 ORDER BY d.num + 0 DESC LIMIT $2) AS n
WHERE s.slot IS NOT NULL LIMIT $2;

-- name: done_names
-- only: postgresql
-- in:  $1 below int, $2 limit int, $3 from text, $4 to text
-- out: @hit@
WITH RECURSIVE s(slot) AS (
    SELECT max(num >> 18) FROM done_@SLOT@ WHERE name IS NOT NULL AND (num >> 18) <= ($1 >> 18)
    UNION ALL
    SELECT (SELECT max(d.num >> 18) FROM done_@SLOT@ d WHERE d.name IS NOT NULL AND (d.num >> 18) < s.slot)
    FROM s WHERE s.slot IS NOT NULL)
SELECT n.num, 1 FROM s CROSS JOIN LATERAL (
    SELECT d.num FROM done_@SLOT@ d WHERE d.name IS NOT NULL AND (d.num >> 18) = s.slot AND d.num < $1
        AND left(d.name, 64) ~>=~ $3 AND left(d.name, 64) ~<=~ $4 ORDER BY d.num + 0 DESC LIMIT $2) AS n
WHERE s.slot IS NOT NULL LIMIT $2;

-- name: doc_sizes
-- only: postgresql
-- in:  $1 below int, $2 limit int, $3 least int, $4 most int, $5 low int
-- out: @hit@
SELECT num, CASE WHEN size BETWEEN $3 AND $4 THEN 1 ELSE 0 END FROM doc WHERE num < $1 AND num >= $5
ORDER BY num DESC LIMIT $2;

-- name: done_sizes
-- only: postgresql
-- in:  $1 below int, $2 limit int, $3 least int, $4 most int, $5 low int
-- out: @hit@
-- Nothing below the time that is looked for.
SELECT n.num, 1 FROM generate_series(floor(ln($3::float8 + 1) * 8)::bigint, floor(ln($4::float8 + 1) * 8)::bigint)
    AS c(class) CROSS JOIN LATERAL (
    SELECT d.num FROM done_@SLOT@ d
    WHERE (floor(ln(d.size::float8 + 1) * 8)::bigint << 40) + d.num >= (c.class << 40) + $5
        AND (floor(ln(d.size::float8 + 1) * 8)::bigint << 40) + d.num < (c.class << 40) + least($1, 1::bigint << 40)
    ORDER BY (floor(ln(d.size::float8 + 1) * 8)::bigint << 40) + d.num DESC LIMIT $2) AS n
ORDER BY n.num DESC LIMIT $2;

-- name: dead_nums
-- in:  $1 below int, $2 limit int, $3 text text, $4 doubt int
-- out: @hit@
-- Documents, once for each task of theirs that is dead; whether its code or message is so.
SELECT doc AS num, CASE WHEN (code = 'in_doubt') = ($4 = 1)
        AND ($3 = '' OR code = $3 OR instr(lower(message), lower($3)) > 0) THEN 1 ELSE 0 END
FROM task_dead WHERE doc < $1 ORDER BY doc DESC LIMIT $2;

-- name: dead_nums
-- for: postgresql
-- in:  $1 below int, $2 limit int, $3 text text, $4 doubt int
SELECT doc AS num, CASE WHEN (code = 'in_doubt') = ($4 = 1)
        AND ($3 = '' OR code = $3 OR strpos(lower(message), lower($3)) > 0) THEN 1 ELSE 0 END
FROM task_dead WHERE doc < $1 ORDER BY doc DESC LIMIT $2;

-- name: trouble_nums
-- in:  $1 below int, $2 limit int, $3 text text
-- out: @hit@
-- Documents, once for each delivery of theirs with a code; whether that or its message is so, as list.c compares them: letters of ASCII in any case.
SELECT doc AS num, CASE WHEN state NOT IN (5, 7)
        AND (code = $3 OR @FIND@(lower(message @ASCII@), lower($3 @ASCII@)) > 0) THEN 1 ELSE 0 END
FROM delivery INDEXED BY delivery_in_trouble WHERE code <> '' AND doc < $1 ORDER BY doc DESC LIMIT $2;

-- name: trouble_nums
-- for: postgresql
-- in:  $1 below int, $2 limit int, $3 text text
SELECT doc AS num, CASE WHEN state NOT IN (5, 7)
        AND (code = $3 OR @FIND@(lower(message @ASCII@), lower($3 @ASCII@)) > 0) THEN 1 ELSE 0 END
FROM delivery WHERE code <> '' AND -doc > -$1::bigint ORDER BY -doc LIMIT $2;

-- name: retrying_nums
-- in:  $1 below int, $2 limit int
-- out: @hit@
-- Documents, once for each delivery of theirs that is tried again later.
SELECT doc AS num, 1 FROM delivery INDEXED BY delivery_retrying WHERE state = 3 AND doc < $1 ORDER BY doc DESC LIMIT $2;

-- name: retrying_nums
-- for: postgresql
-- in:  $1 below int, $2 limit int
SELECT doc AS num, 1 FROM delivery WHERE state = 3 AND -doc > -$1::bigint ORDER BY -doc LIMIT $2;

-- name: retrying_runs
-- in:  $1 below int, $2 limit int, $3 text text
-- out: @hit@
-- Documents whose own run is tried again later; whether their code, `retry`, or the message is so, or the text is empty.
SELECT id AS num, CASE WHEN $3 IN ('', 'retry') OR @FIND@(lower(error @ASCII@), lower($3 @ASCII@)) > 0 THEN 1 ELSE 0 END
FROM task_later WHERE kind = 1 AND attempts > 0 AND -id > -CAST($1 AS BIGINT) ORDER BY -id LIMIT $2;

-- name: trouble_dead
-- in:  $1 below int, $2 limit int, $3 text text
-- out: @hit@
-- As trouble_nums, for each dead task; those of deliveries, which are found there, never fit.
SELECT doc AS num, CASE WHEN id = doc
        AND (code = $3 OR @FIND@(lower(message @ASCII@), lower($3 @ASCII@)) > 0) THEN 1 ELSE 0 END
FROM task_dead WHERE doc < $1 ORDER BY doc DESC LIMIT $2;

-- name: trouble_batches
-- in:  $1 text text, $2 state int, $3 num int, $4 limit int
-- out: @batch_hit@
-- State and num of batches that were closed, behind a place; whether they could not be built, or their documents are in trouble, with that code or message.
SELECT b.state, b.num, CASE WHEN b.code = $1 OR @FIND@(lower(b.message @ASCII@), lower($1 @ASCII@)) > 0
    OR 1 = (SELECT max(CASE WHEN v.code = $1 OR @FIND@(lower(v.message @ASCII@), lower($1 @ASCII@)) > 0
                       THEN 1 ELSE 0 END)
            FROM delivery v WHERE v.doc = b.doc AND v.code IS NOT NULL AND v.state NOT IN (5, 7))
    OR 1 = (SELECT CASE WHEN t.code = $1 OR @FIND@(lower(t.message @ASCII@), lower($1 @ASCII@)) > 0
                   THEN 1 ELSE 0 END
            FROM task_dead t WHERE t.id = b.doc)
    OR 1 = (SELECT CASE WHEN $1 = 'retry' OR @FIND@(lower(t.error @ASCII@), lower($1 @ASCII@)) > 0 THEN 1 ELSE 0 END
            FROM task_later t WHERE -t.id = -b.doc AND t.kind = 1 AND t.attempts > 0)
    THEN 1 ELSE 0 END
FROM (SELECT state, num, doc, code, message FROM batch WHERE (state, num) > ($2, $3) AND (state, num) < (3, 0)
    ORDER BY state, num LIMIT $4) AS b
ORDER BY b.state, b.num;

-- name: dead_batches
-- in:  $1 text text, $2 state int, $3 num int, $4 limit int, $5 doubt int
-- out: @batch_hit@
-- As trouble_batches; whether they could not be built, or a task of their documents is dead.
SELECT b.state, b.num, CASE WHEN $5 = 0 AND b.code <> ''
        AND ($1 = '' OR b.code = $1 OR @FIND@(lower(b.message @ASCII@), lower($1 @ASCII@)) > 0)
    OR 1 = (SELECT max(CASE WHEN (t.code = 'in_doubt') = ($5 = 1)
                    AND ($1 = '' OR t.code = $1 OR @FIND@(lower(t.message @ASCII@), lower($1 @ASCII@)) > 0)
                THEN 1 ELSE 0 END)
            FROM task_dead t WHERE t.doc = @KEY(b.doc)@)
    THEN 1 ELSE 0 END
FROM (SELECT state, num, doc, code, message FROM batch WHERE (state, num) > ($2, $3) AND (state, num) < (3, 0)
    ORDER BY state, num LIMIT $4) AS b
ORDER BY b.state, b.num;

-- name: retrying_batches
-- in:  $1 state int, $2 num int, $3 limit int
-- out: @batch_hit@
-- As trouble_batches; whether a delivery of their documents, or their run, is tried again later.
SELECT b.state, b.num, CASE WHEN 1 = (SELECT max(CASE WHEN v.state = 3 THEN 1 ELSE 0 END)
    FROM delivery v WHERE v.doc = b.doc)
    OR 1 = (SELECT 1 FROM task_later t WHERE -t.id = -b.doc AND t.kind = 1 AND t.attempts > 0) THEN 1 ELSE 0 END
FROM (SELECT state, num, doc FROM batch WHERE (state, num) > ($1, $2) AND (state, num) < (3, 0)
    ORDER BY state, num LIMIT $3) AS b
ORDER BY b.state, b.num;

-- name: trouble_members_of
-- in:  $1 below int, $2 limit int, $3 batch int
-- out: @hit@
SELECT doc AS num, 1 FROM batch_member WHERE (batch, doc) >= ($3, 0) AND (batch, doc) < ($3, $1)
ORDER BY batch DESC, doc DESC LIMIT $2;

-- name: trouble_members
-- in:  $1 below int, $2 limit int
-- out: num, batch
SELECT doc AS num, batch FROM batch_member WHERE doc < $1 ORDER BY doc DESC LIMIT $2;

-- name: done_states
-- in:  $1 below int, $2 limit int, $3 state int
-- out: @hit@
-- Of any state but delivered, which most have.
SELECT num, 1 FROM done_@SLOT@ WHERE (state, num) >= ($3, 0) AND (state, num) < ($3, $1) AND state <> 6
ORDER BY state DESC, num DESC LIMIT $2;

-- name: link_nums
-- in:  $1 below int, $2 limit int, $3 parent int
-- out: @hit@
-- By the index of each kind: of many children only those are read that are asked for.
SELECT num, 1 FROM (
    SELECT num FROM (SELECT child AS num FROM link WHERE parent = $3 AND kind = 1 AND child < $1
        ORDER BY parent DESC, kind DESC, child DESC LIMIT $2) AS edits
    UNION ALL
    SELECT num FROM (SELECT child AS num FROM link WHERE parent = $3 AND kind = 2 AND child < $1
        ORDER BY parent DESC, kind DESC, child DESC LIMIT $2) AS members
    UNION ALL
    SELECT num FROM (SELECT child AS num FROM link WHERE parent = $3 AND kind = 3 AND child < $1
        ORDER BY parent DESC, kind DESC, child DESC LIMIT $2) AS copies
    UNION ALL
    SELECT num FROM (SELECT child AS num FROM link WHERE parent = $3 AND kind = 4 AND child < $1
        ORDER BY parent DESC, kind DESC, child DESC LIMIT $2) AS answers
    UNION ALL
    SELECT num FROM (SELECT child AS num FROM link WHERE parent = $3 AND kind = 5 AND child < $1
        ORDER BY parent DESC, kind DESC, child DESC LIMIT $2) AS parts) AS children ORDER BY num DESC LIMIT $2;

-- name: doc_at
-- in:  $1 from int, $2 to int
-- out: num, received_us
SELECT num, received_us FROM doc WHERE num >= $1 AND num < $2 ORDER BY num LIMIT 1;

-- name: done_at
-- in:  $1 from int, $2 to int
-- out: num, received_us
SELECT num, received_us FROM done_@SLOT@ WHERE num >= $1 AND num < $2 ORDER BY num LIMIT 1;

-- name: doc_top
SELECT (SELECT num FROM doc ORDER BY num DESC LIMIT 1);

-- name: term_above
-- in:  $1 key int
SELECT min(key) FROM term WHERE key >= $1;

-- name: term_sweep
-- in:  $1 from int, $2 to int, $3 limit int
DELETE FROM term WHERE (key, num) IN (SELECT key, num FROM term WHERE key >= $1 AND key < $2 LIMIT $3);

-- name: term_sweep
-- for: postgresql
-- in:  $1 from int, $2 to int, $3 limit int
DELETE FROM term t USING (SELECT key, num FROM term WHERE key >= $1 AND key < $2 LIMIT $3) AS old
WHERE t.key = @KEY(old.key)@ AND t.num = old.num;

-- name: name_slot_above
-- only: sqlite
-- in:  $1 slot int
SELECT min(slot) FROM name_index WHERE slot >= $1;

-- name: name_sweep
-- only: sqlite
-- in:  $1 slot int, $2 limit int
DELETE FROM name_index WHERE (slot, name, num) IN (SELECT slot, name, num FROM name_index WHERE slot = $1 LIMIT $2);
