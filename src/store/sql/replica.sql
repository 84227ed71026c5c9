-- Links of tables (store/replica): rows that are set aside, orders, passes of verification and what they have found.

-- columns replica_aside: id, link, table_name, row_key, row_bytes, kind, why, x, first_us, last_us, due_us, tries, discarded,
--      judged_by, judged_why, peer

-- name: set_aside_put
-- in:  $1 id int, $2 digest bytes, $3 link text, $4 table text, $5 key bytes, $6 row bytes, $7 kind text, $8 why text, $9 x int,
--      $10 now int, $11 due int
-- batch
-- A row that is there keeps its number.  The same image again does not take back what a person has said.
INSERT INTO replica_set_aside(id, digest, link, table_name, row_key, row_bytes, kind, why, x, first_us, last_us, due_us, tries)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, 1)
ON CONFLICT (digest) DO UPDATE SET row_bytes = excluded.row_bytes, kind = excluded.kind, why = excluded.why,
    x = excluded.x, last_us = excluded.last_us, tries = replica_set_aside.tries + 1,
    due_us = excluded.last_us + CASE replica_set_aside.tries WHEN 1 THEN 120 WHEN 2 THEN 240 WHEN 3 THEN 480 WHEN 4 THEN 960
        WHEN 5 THEN 1920 ELSE 3600 END * CAST(1000000 AS BIGINT),
    discarded = CASE WHEN replica_set_aside.x = excluded.x AND replica_set_aside.row_bytes = excluded.row_bytes
        THEN replica_set_aside.discarded ELSE 0 END;

-- name: set_aside_have
-- in:  $1 digest bytes
-- batch
SELECT 1, id FROM replica_set_aside WHERE digest = $1;

-- name: set_aside_have
-- for: postgresql
-- in:  $1 digest bytes
-- batch
SELECT u.at, s.id FROM unnest($1::bytea[]) WITH ORDINALITY AS u(digest, at)
JOIN replica_set_aside s ON s.digest = @KEY(u.digest)@;

-- name: set_aside_drop
-- in:  $1 digest bytes
-- batch
DELETE FROM replica_set_aside WHERE digest = $1;

-- name: set_aside_drop
-- for: postgresql
-- in:  $1 digest bytes
-- batch
DELETE FROM replica_set_aside WHERE digest = ANY ($1::bytea[]);

-- name: set_aside_drop_all
-- in:  $1 link text, $2 table text
DELETE FROM replica_set_aside WHERE link = $1 AND table_name = $2 AND id > 0 AND kind <> 'conflict';

-- name: set_aside_open
-- in:  $1 link text, $2 table text
SELECT count(*) FROM replica_set_aside WHERE link = $1 AND table_name = $2 AND discarded = 0;

-- name: set_aside_due
-- in:  $1 link text, $2 table text, $3 now int, $4 limit int
-- out: @replica_aside@
-- Without the bytes of the rows, which may be many: they are read at the source again.
SELECT id, link, table_name, row_key, CAST(NULL AS @BYTES@) AS row_bytes, kind, why, x, first_us, last_us, due_us, tries,
    discarded, judged_by, judged_why, peer
FROM replica_set_aside WHERE link = $1 AND table_name = $2 AND discarded = 0 AND due_us <= $3
ORDER BY due_us, id LIMIT $4;

-- name: set_aside_find
-- in:  $1 id int
-- out: @replica_aside@
SELECT @replica_aside@ FROM replica_set_aside WHERE id = $1 AND discarded <> 3;

-- name: set_aside_page
-- in:  $1 table text, $2 after int, $3 limit int
-- out: @replica_aside@
SELECT @replica_aside@ FROM replica_set_aside WHERE id > $2 AND ($1 = '' OR table_name = $1) AND discarded <> 3
ORDER BY id LIMIT $3;

-- name: set_aside_page_link
-- in:  $1 link text, $2 after int, $3 limit int
-- out: @replica_aside@
SELECT @replica_aside@ FROM replica_set_aside WHERE link = $1 AND id > 0 AND id > $2 AND discarded <> 3 ORDER BY id LIMIT $3;

-- name: set_aside_page_table
-- in:  $1 link text, $2 table text, $3 after int, $4 limit int
-- out: @replica_aside@
SELECT @replica_aside@ FROM replica_set_aside WHERE link = $1 AND table_name = $2 AND id > 0 AND id > $3 AND discarded <> 3
ORDER BY id LIMIT $4;

-- name: set_aside_judge
-- in:  $1 id int, $2 discarded int, $3 by text, $4 why text
-- A conflict that a person has looked at goes like the others; the other location is to know that.
UPDATE replica_set_aside SET discarded = $2, judged_by = $3, judged_why = $4,
    due_us = CASE WHEN CAST($2 AS bigint) = 0 THEN @NOW_US@
        WHEN kind = 'conflict' AND due_us > @NOW_US@ + 2592000000000 THEN @NOW_US@ + 2592000000000 ELSE due_us END,
    told = CASE WHEN kind = 'conflict' THEN 0 ELSE told END
WHERE id = $1 AND discarded <> 3;

-- name: conflict_put
-- in:  $1 id int, $2 digest bytes, $3 link text, $4 table text, $5 key bytes, $6 row bytes, $7 why text, $8 x int, $9 now int,
--      $10 due int, $11 peer text, $12 discarded int, $13 told int
-- batch
-- discarded 1: a person does not want it; 2: it is kept, and waits for nothing; 3: it was written, and goes when the other
-- location knows that.
INSERT INTO replica_set_aside(id, digest, link, table_name, row_key, row_bytes, kind, why, x, first_us, last_us, due_us, tries,
    peer, discarded, told)
VALUES ($1, $2, $3, $4, $5, $6, 'conflict', $7, $8, $9, $9, $10, 1, $11, $12, $13)
ON CONFLICT (digest) DO UPDATE SET why = excluded.why, x = excluded.x, last_us = excluded.last_us, due_us = excluded.due_us,
    tries = replica_set_aside.tries + 1, discarded = excluded.discarded, told = excluded.told;

-- name: conflict_drop
-- in:  $1 id int
DELETE FROM replica_set_aside WHERE id = $1 AND kind = 'conflict';

-- name: conflict_leave
-- in:  $1 id int, $2 kept int
-- Of one that is at the other location, too: it goes when that knows.
UPDATE replica_set_aside SET discarded = 3, told = 0, due_us = @NOW_US@ + $2 WHERE id = $1 AND kind = 'conflict';

-- name: conflict_stays
-- in:  $1 id int, $2 why text, $3 kept int
UPDATE replica_set_aside SET discarded = 2, why = $2, told = 0, due_us = @NOW_US@ + $3 WHERE id = $1 AND kind = 'conflict';

-- name: conflict_untold
-- in:  $1 link text, $2 table text, $3 limit int
-- out: @replica_aside@
SELECT @replica_aside@ FROM replica_set_aside
WHERE link = $1 AND table_name = $2 AND kind = 'conflict' AND told = 0 AND peer = '' AND discarded <> 0 ORDER BY id LIMIT $3;

-- name: conflict_told
-- in:  $1 digest bytes, $2 discarded int
-- batch
-- Nothing when a person has said something else since.
UPDATE replica_set_aside SET told = 1 WHERE digest = $1 AND discarded = $2;

-- name: conflict_told
-- for: postgresql
-- in:  $1 digest bytes, $2 discarded int
-- batch
UPDATE replica_set_aside s SET told = 1 FROM @ROWS@ WHERE s.digest = @KEY(u.c1)@ AND s.discarded = u.c2;

-- name: conflict_gone
-- in:  $1 digest bytes, $2 discarded int
-- batch
DELETE FROM replica_set_aside WHERE digest = $1 AND kind = 'conflict' AND discarded = $2;

-- name: conflict_gone
-- for: postgresql
-- in:  $1 digest bytes, $2 discarded int
-- batch
DELETE FROM replica_set_aside s USING @ROWS@ WHERE s.digest = @KEY(u.c1)@ AND s.kind = 'conflict' AND s.discarded = u.c2;

-- name: conflict_held
-- in:  $1 peer text
SELECT count(*) FROM replica_set_aside WHERE peer = $1 AND peer <> '';

-- name: conflict_held_bytes
-- in:  $1 peer text
SELECT COALESCE(SUM(length(row_bytes)), 0) FROM replica_set_aside WHERE peer = $1 AND peer <> '';

-- name: conflict_old
-- in:  $1 limit int
DELETE FROM replica_set_aside WHERE id IN (SELECT a.id FROM replica_set_aside a
    WHERE a.kind = 'conflict' AND a.due_us < @NOW_US@ AND a.discarded <> 0 ORDER BY a.due_us LIMIT $1);

-- columns replica_order: id, link, table_name, wish, detail, asked_by, why, at_us

-- name: replica_order_put
-- in:  $1 id int, $2 link text, $3 table text, $4 wish int, $5 detail text, $6 by text, $7 why text
INSERT INTO replica_order(id, link, table_name, wish, detail, asked_by, why, at_us)
VALUES ($1, $2, $3, $4, $5, $6, $7, @NOW_US@)
ON CONFLICT (link, table_name, wish) DO UPDATE SET id = excluded.id, detail = excluded.detail,
    asked_by = excluded.asked_by, why = excluded.why, at_us = excluded.at_us;

-- name: replica_order_get
-- in:  $1 link text, $2 table text, $3 wish int
-- out: @replica_order@
SELECT @replica_order@ FROM replica_order WHERE link = $1 AND table_name = $2 AND wish = $3;

-- name: replica_order_drop
-- in:  $1 id int
DELETE FROM replica_order WHERE id = $1;

-- columns replica_pass: id, link, table_name, rule, mode, repair, dry_run, result, began_us, ended_us, next_key, segments,
--      segments_bad, rows_source, rows_dest, bytes, missing, extra, different, moving, repaired, skipped, message, asked_by

-- name: pass_add
-- in:  $1 id int, $2 link text, $3 table text, $4 rule text, $5 mode text, $6 repair int, $7 dry_run int, $8 result int,
--      $9 began int, $10 ended int, $11 next bytes, $12 segments int, $13 segments_bad int, $14 rows_source int,
--      $15 rows_dest int, $16 bytes int, $17 missing int, $18 extra int, $19 different int, $20 moving int, $21 repaired int,
--      $22 skipped int, $23 message text, $24 by text
INSERT INTO replica_pass(id, link, table_name, rule, mode, repair, dry_run, result, began_us, ended_us, next_key, segments,
    segments_bad, rows_source, rows_dest, bytes, missing, extra, different, moving, repaired, skipped, message, asked_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24);

-- name: pass_set
-- in:  $1 id int, $2 result int, $3 ended int, $4 next bytes, $5 segments int, $6 segments_bad int, $7 rows_source int,
--      $8 rows_dest int, $9 bytes int, $10 missing int, $11 extra int, $12 different int, $13 moving int, $14 repaired int,
--      $15 skipped int, $16 message text
-- Nothing when it is gone, or has ended.
UPDATE replica_pass SET result = $2, ended_us = $3, next_key = $4, segments = $5, segments_bad = $6, rows_source = $7,
    rows_dest = $8, bytes = $9, missing = $10, extra = $11, different = $12, moving = $13, repaired = $14, skipped = $15,
    message = $16
WHERE id = $1 AND ended_us = 0;

-- name: pass_abort
-- in:  $1 link text, $2 table text, $3 rule text, $4 result int, $5 now int, $6 message text
-- Those of a rule that begins a new one.
UPDATE replica_pass SET result = $4, ended_us = $5, message = $6
WHERE link = $1 AND table_name = $2 AND rule = $3 AND ended_us = 0;

-- name: pass_old
-- in:  $1 link text, $2 table text, $3 limit int, $4 kept int
SELECT id FROM replica_pass WHERE link = $1 AND table_name = $2 AND id > 0 AND ended_us <> 0
ORDER BY id DESC LIMIT $3 OFFSET $4;

-- name: pass_drop
-- in:  $1 id int
DELETE FROM replica_pass WHERE id = $1;

-- name: pass_find
-- in:  $1 id int
-- out: @replica_pass@
SELECT @replica_pass@ FROM replica_pass WHERE id = $1;

-- name: pass_page
-- in:  $1 table text, $2 rule text, $3 before int, $4 limit int
-- out: @replica_pass@
SELECT @replica_pass@ FROM replica_pass WHERE id < $3 AND ($1 = '' OR table_name = $1) AND ($2 = '' OR rule = $2)
ORDER BY id DESC LIMIT $4;

-- name: pass_page_link
-- in:  $1 link text, $2 rule text, $3 before int, $4 limit int
-- out: @replica_pass@
SELECT @replica_pass@ FROM replica_pass WHERE link = $1 AND id > 0 AND id < $3 AND ($2 = '' OR rule = $2)
ORDER BY id DESC LIMIT $4;

-- name: pass_page_table
-- in:  $1 link text, $2 table text, $3 rule text, $4 before int, $5 limit int
-- out: @replica_pass@
SELECT @replica_pass@ FROM replica_pass WHERE link = $1 AND table_name = $2 AND id > 0 AND id < $4
    AND ($3 = '' OR rule = $3)
ORDER BY id DESC LIMIT $5;

-- name: pass_differing
-- in:  $1 above int, $2 diverged int, $3 ok int, $4 repaired int, $5 partial int, $6 limit int
-- out: @replica_pass@
-- Of each table the last pass, if it has found differences; one that compares less says nothing of what another one has found.
SELECT @replica_pass@ FROM replica_pass WHERE id > 0 AND id > $1 AND result = $2 AND NOT EXISTS (
    SELECT 1 FROM replica_pass later WHERE later.link = replica_pass.link AND later.table_name = replica_pass.table_name
        AND later.id > replica_pass.id AND later.id > 0 AND (later.result IN ($2, $3, $4)
            OR (later.result = $5 AND later.rule = replica_pass.rule AND later.mode = replica_pass.mode)))
ORDER BY id LIMIT $6;

-- columns replica_finding: row_key, kind, state, hash_source, hash_dest, seen_x, tries, look_us

-- name: finding_have
-- in:  $1 pass int, $2 head bytes, $3 rest bytes
-- batch
SELECT 1, tries FROM replica_finding WHERE pass = $1 AND head = $2 AND rest = $3;

-- name: finding_have
-- for: postgresql
-- in:  $1 pass int, $2 head bytes, $3 rest bytes
-- batch
SELECT u.at, f.tries FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) WITH ORDINALITY AS u(pass, head, rest, at)
JOIN replica_finding f ON f.pass = @KEY(u.pass)@ AND f.head = u.head AND f.rest = u.rest;

-- name: finding_put
-- in:  $1 pass int, $2 head bytes, $3 rest bytes, $4 key bytes, $5 kind int, $6 state int, $7 source bytes, $8 dest bytes,
--      $9 seen int, $10 tries int, $11 look int
-- batch
INSERT INTO replica_finding(pass, head, rest, row_key, kind, state, hash_source, hash_dest, seen_x, tries, look_us)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (pass, head, rest) DO UPDATE SET kind = excluded.kind, state = excluded.state,
    hash_source = excluded.hash_source, hash_dest = excluded.hash_dest, seen_x = excluded.seen_x, tries = excluded.tries,
    look_us = excluded.look_us;

-- name: finding_gone
-- in:  $1 pass int, $2 head bytes, $3 rest bytes
-- batch
DELETE FROM replica_finding WHERE pass = $1 AND head = $2 AND rest = $3;

-- name: finding_gone
-- for: postgresql
-- in:  $1 pass int, $2 head bytes, $3 rest bytes
-- batch
DELETE FROM replica_finding f USING @ROWS@ WHERE f.pass = @KEY(u.c1)@ AND f.head = u.c2 AND f.rest = u.c3;

-- name: pass_listed
-- in:  $1 id int
SELECT listed FROM replica_pass WHERE id = $1;

-- name: pass_list_more
-- in:  $1 id int, $2 more int
UPDATE replica_pass SET listed = listed + $2 WHERE id = $1;

-- name: finding_page
-- in:  $1 pass int, $2 head bytes, $3 after bytes, $4 limit int
-- out: @replica_finding@
SELECT @replica_finding@ FROM replica_finding WHERE pass = $1 AND (head, row_key) > ($2, $3) ORDER BY head, row_key LIMIT $4;

-- name: finding_page_state
-- in:  $1 pass int, $2 state int, $3 head bytes, $4 after bytes, $5 limit int
-- out: @replica_finding@
SELECT @replica_finding@ FROM replica_finding WHERE pass = $1 AND state = $2 AND (head, row_key) > ($3, $4)
ORDER BY head, row_key LIMIT $5;

-- name: finding_drop
-- in:  $1 pass int
DELETE FROM replica_finding WHERE pass = $1;

-- name: replica_left_passes
-- in:  $1 limit int
-- Of tables of which there is no job any more.
SELECT p.id FROM replica_pass p
WHERE p.id > 0 AND NOT EXISTS (SELECT 1 FROM job j WHERE j.name = p.link || '/' || p.table_name) ORDER BY p.id LIMIT $1;

-- name: replica_left_aside
-- in:  $1 limit int
-- What links of other locations have decided has a time of its own.
DELETE FROM replica_set_aside WHERE id IN (SELECT a.id FROM replica_set_aside a
    WHERE a.id > 0 AND a.peer = '' AND NOT EXISTS (SELECT 1 FROM job j WHERE j.name = a.link || '/' || a.table_name)
    ORDER BY a.id LIMIT $1);

-- name: replica_left_orders
-- in:  $1 limit int
DELETE FROM replica_order WHERE id IN (SELECT o.id FROM replica_order o
    WHERE o.id > 0 AND NOT EXISTS (SELECT 1 FROM job j WHERE j.name = o.link || '/' || o.table_name) ORDER BY o.id LIMIT $1);
