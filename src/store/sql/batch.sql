-- Batches.  Numeric states as in batch.h: 0 open, 1 closing, 2 closed, 3 ended.

-- columns batches: num, name, route, receiver, part, state, config, members, bytes, opened_us, closed_us,
--      ended_us, why, closed_by, slot_us, doc, doc_id, claim, tries, code, message
-- columns membership: num = b.num, name = b.name, state = b.state, doc_id = b.doc_id, code = b.code,
--      message = b.message, size = m.size

-- name: batch_find_open
-- in:  $1 name int, $2 route int, $3 receiver int, $4 part text
-- out: num, members, bytes
SELECT num, members, bytes FROM batch
WHERE name = $1 AND route = $2 AND receiver = $3 AND part = $4 AND state = 0 @FOR_UPDATE@;

-- name: batch_add
-- in:  $1 num int, $2 name int, $3 route int, $4 receiver int, $5 part text, $6 config int
-- Of two concurrent inserts the second waits for the first and then adds nothing.
INSERT INTO batch(num, name, route, receiver, part, state, config, members, bytes, opened_us)
VALUES ($1, $2, $3, $4, $5, 0, $6, 0, 0, @NOW_US@)
ON CONFLICT(name, route, receiver, part) WHERE state = 0 DO NOTHING;

-- name: batch_add_closing
-- in:  $1 num int, $2 name int, $3 route int, $4 receiver int, $5 part text, $6 config int, $7 why int,
--      $8 slot int, $9 by text
-- A batch that was never open: for a single new member, or empty.
INSERT INTO batch(num, name, route, receiver, part, state, config, members, bytes, opened_us, closed_us, why,
    slot_us, closed_by)
VALUES ($1, $2, $3, $4, $5, 1, $6, 0, 0, @NOW_US@, @NOW_US@, $7, $8, $9);

-- name: batch_grow
-- in:  $1 num int, $2 members int, $3 bytes int, $4 config int, $5 why int
-- why 0: the batch stays open.
UPDATE batch SET members = members + $2, bytes = bytes + $3, config = $4,
    state = CASE WHEN $5 = 0 THEN state ELSE 1 END, why = CASE WHEN $5 = 0 THEN why ELSE $5 END,
    closed_us = CASE WHEN $5 = 0 THEN closed_us ELSE @NOW_US@ END
WHERE num = $1;

-- name: batch_member_add
-- in:  $1 batch int, $2 doc int, $3 size int, $4 seg int, $5 pos int, $6 num int, $7 sha256 bytes
-- batch
INSERT INTO batch_member(batch, doc, size, b_seg, b_pos, b_num, b_sha256) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: batch_freeze
-- in:  $1 name int, $2 receiver int, $3 before int, $4 why int, $5 by text, $6 slot int
-- Closes batches: their members are fixed from now on.  receiver -1: any; before: opened until then.
UPDATE batch SET state = 1, closed_us = @NOW_US@, why = $4, closed_by = $5, slot_us = $6
WHERE num IN (SELECT num FROM batch WHERE name = $1 AND state = 0 AND ($2 = -1 OR receiver = $2)
    AND opened_us <= $3 ORDER BY route, receiver, part);

-- name: batch_freeze
-- for: postgresql
-- in:  $1 name int, $2 receiver int, $3 before int, $4 why int, $5 by text, $6 slot int
UPDATE batch SET state = 1, closed_us = @NOW_US@, why = $4, closed_by = $5, slot_us = $6
WHERE num = ANY (ARRAY(SELECT num FROM batch WHERE name = $1 AND state = 0 AND ($2 = -1 OR receiver = $2)
    AND opened_us <= $3 ORDER BY route, receiver, part FOR UPDATE));

-- name: batch_again
-- in:  $1 name int, $2 receiver int
-- Retry now those that could not be built.
UPDATE batch SET due_us = 0 WHERE name = $1 AND state = 1 AND due_us > 0 AND ($2 = -1 OR receiver = $2);

-- name: batch_clock_get
-- in:  $1 name int
SELECT slot_us FROM batch_clock WHERE name = $1;

-- name: batch_clock_start
-- in:  $1 name int, $2 slot int
INSERT INTO batch_clock(name, slot_us) VALUES ($1, $2) ON CONFLICT(name) DO NOTHING;

-- name: batch_clock_move
-- in:  $1 name int, $2 from int, $3 to int
-- Compare-and-set: one node closes the batch for a time of its schedule.
UPDATE batch_clock SET slot_us = $3 WHERE name = $1 AND slot_us = $2;

-- name: batch_any
-- 1 when there is one that has not ended.
SELECT count(*) FROM (SELECT 1 FROM batch WHERE state < 3 LIMIT 1) AS one;

-- name: batch_names_open
-- in:  $1 limit int
-- out: name, opened_us
-- Names of which some are open, and when the first of those was opened.
SELECT name, min(opened_us) FROM batch WHERE state = 0 GROUP BY name ORDER BY name LIMIT $1;

-- name: batch_waits
-- in:  $1 node int
-- 1 when batch_claim would find one.
SELECT count(*) FROM (SELECT 1 FROM batch WHERE state = 1 AND due_us <= @NOW_US@
    AND (node_id <> $1 OR until_us < @NOW_US@) LIMIT 1) AS one;

-- name: batch_waits
-- for: postgresql
-- in:  $1 node int
SELECT count(*) FROM (SELECT 1 FROM batch b WHERE state = 1 AND due_us <= @NOW_US@
    AND (node_id = 0 OR until_us < @NOW_US@ OR (node_id <> $1 AND NOT EXISTS (SELECT 1 FROM node n
         WHERE n.node_id = b.node_id AND n.state = 0 AND n.alive_until_us > @NOW_US@))) LIMIT 1) AS one;

-- name: batch_unclaim
-- in:  $1 node int
UPDATE batch SET node_id = 0 WHERE state = 1 AND node_id = $1;

-- name: batch_claim
-- in:  $1 node int, $2 lease int
-- out: @batches@
UPDATE batch SET node_id = $1, claim = claim + 1, tries = tries + 1, until_us = @NOW_US@ + $2
WHERE num = (SELECT num FROM batch WHERE state = 1 AND due_us <= @NOW_US@
    AND (node_id <> $1 OR until_us < @NOW_US@) ORDER BY num LIMIT 1)
RETURNING @batches@;

-- name: batch_claim
-- for: postgresql
-- in:  $1 node int, $2 lease int
-- The claim of a dead or silent node is free: that node cannot store a result any more.
UPDATE batch SET node_id = $1, claim = claim + 1, tries = tries + 1, until_us = @NOW_US@ + $2
WHERE num = (SELECT num FROM batch b WHERE state = 1 AND due_us <= @NOW_US@
    AND (node_id = 0 OR until_us < @NOW_US@ OR NOT EXISTS (SELECT 1 FROM node n WHERE n.node_id = b.node_id
         AND n.state = 0 AND n.alive_until_us > @NOW_US@)) ORDER BY num LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING @batches@;

-- name: batch_back
-- in:  $1 num int, $2 node int, $3 claim int, $4 due int, $5 code text, $6 message text
-- Release the claim: another node, or a later time.
UPDATE batch SET node_id = 0, due_us = $4, code = $5, message = $6
WHERE num = $1 AND state = 1 AND node_id = $2 AND claim = $3;

-- name: batch_members
-- in:  $1 batch int, $2 after int, $3 limit int
-- out: doc, id, received_us, seg, pos, num, size, sha256, name, sender, dtype, gateway, facts
SELECT m.doc, d.id, d.received_us, coalesce(m.b_seg, d.seg), coalesce(m.b_pos, d.pos), coalesce(m.b_num, d.num),
    m.size, coalesce(m.b_sha256, d.sha256), d.name, d.sender, d.dtype, d.gateway,
    d.facts
FROM batch_member m JOIN doc d ON d.num = @KEY(m.doc)@ WHERE m.batch = $1 AND m.doc > $2 ORDER BY m.doc LIMIT $3;

-- name: batch_common
-- in:  $1 batch int
-- out: members, sender_first, sender_last, dtype_first, dtype_last
SELECT count(*), min(d.sender), max(d.sender), min(d.dtype), max(d.dtype)
FROM batch_member m JOIN doc d ON d.num = @KEY(m.doc)@ WHERE m.batch = $1;

-- name: batch_lock
-- in:  $1 num int, $2 node int, $3 claim int
-- 1 when it is closing, and this claim has it.
SELECT CASE WHEN state = 1 AND node_id = $2 AND claim = $3 THEN 1 ELSE 0 END FROM batch
WHERE num = $1 @FOR_UPDATE@;

-- name: batch_built
-- in:  $1 num int, $2 doc int, $3 id bytes
UPDATE batch SET state = 2, doc = $2, doc_id = $3, node_id = 0, code = NULL, message = NULL WHERE num = $1;

-- name: batch_doc
-- in:  $1 num int, $2 sender int, $3 receiver int, $4 dtype int, $5 route int, $6 facts bytes, $7 trail bytes
-- The facts of the document that was built from a batch.
UPDATE doc SET sender = $2, receiver = $3, dtype = $4, route = $5, facts = $6, trail = $7 WHERE num = $1;

-- name: batch_link
-- in:  $1 doc int, $2 batch int
-- Links the members as children of kind 2 (schema/0006_link.sql).
INSERT INTO link(parent, kind, child) SELECT $1, 2, doc FROM batch_member WHERE batch = $2;

-- name: batch_link_earlier
-- in:  $1 doc int, $2 batch int
-- A member that was sent before is sent again: link the new batch as a copy (kind 3) of the earlier one.
INSERT INTO link(parent, kind, child)
SELECT DISTINCT l.parent, 3, CAST($1 AS BIGINT) FROM batch_member m JOIN link l ON l.child = @KEY(m.doc)@ AND l.kind = 2
WHERE m.batch = $2;

-- name: batch_take
-- in:  $1 batch int, $2 limit int
-- out: doc, dtype
SELECT m.doc, coalesce(d.dtype, 0) FROM batch_member m LEFT JOIN doc d ON d.num = @KEY(m.doc)@
WHERE m.batch = $1 ORDER BY m.doc LIMIT $2;

-- name: batch_in_order
-- in:  $1 batch int
-- out: doc, members
-- Its members in the order of acceptance, and how many there are.
-- Their numbers alone are not in that order: several nodes and writers give them.
SELECT m.doc, count(*) OVER () FROM batch_member m LEFT JOIN doc d ON d.num = @KEY(m.doc)@
WHERE m.batch = $1 ORDER BY coalesce(d.seq, 0), m.doc;

-- name: batch_member_drop
-- in:  $1 batch int, $2 doc int
-- batch
DELETE FROM batch_member WHERE batch = $1 AND doc = $2;

-- name: batch_member_drop
-- for: postgresql
-- in:  $1 batch int, $2 doc int
-- batch
DELETE FROM batch_member m USING @ROWS@ WHERE m.doc = @KEY(c2)@ AND m.batch + 0 = c1;

-- name: batch_shrink
-- in:  $1 num int, $2 size int
UPDATE batch SET members = members - 1, bytes = bytes - $2 WHERE num = $1;

-- name: batch_anew
-- in:  $1 num int
-- Invalidates the claim of a builder, which may have read the removed member.
UPDATE batch SET claim = claim + 1, node_id = 0 WHERE num = $1 AND state = 1;

-- name: batch_forget_empty
-- in:  $1 num int
-- Deletes an open batch without members.
DELETE FROM batch WHERE num = $1 AND state = 0 AND members = 0;

-- name: batch_go
-- in:  $1 num int, $2 route int, $3 config int
-- batch
-- A member of `join: each` runs the steps of its batch.
UPDATE doc SET route = $2, config = CASE WHEN $3 = 0 THEN config ELSE $3 END, updated_us = @NOW_US@ WHERE num = $1;

-- name: batch_go
-- for: postgresql
-- in:  $1 num int, $2 route int, $3 config int
-- batch
UPDATE doc SET route = c2, config = CASE WHEN c3 = 0 THEN config ELSE c3 END, updated_us = @NOW_US@
FROM @ROWS@ WHERE num = @KEY(c1)@;

-- name: batch_over
-- in:  $1 after int, $2 limit int
-- out: num, doc, doc_id
-- Those whose document does not live any more.
SELECT b.num, b.doc, b.doc_id FROM batch b WHERE b.state = 2 AND b.num > $1
    AND (SELECT d.num FROM doc d WHERE d.num = b.doc) IS NULL ORDER BY b.num LIMIT $2;

-- name: batch_end_lock
-- in:  $1 num int, $2 state int
-- 1 when it is in that state.
SELECT 1 FROM batch WHERE num = $1 AND state = $2 @FOR_UPDATE@;

-- name: batch_ended
-- in:  $1 num int
UPDATE batch SET state = 3, ended_us = @NOW_US@, node_id = 0, code = NULL, message = NULL WHERE num = $1;

-- name: batch_forget
-- in:  $1 before int, $2 limit int
DELETE FROM batch WHERE num IN (SELECT num FROM batch WHERE state = 3 AND ended_us < $1 ORDER BY num LIMIT $2);

-- name: batch_forget
-- for: postgresql
-- in:  $1 before int, $2 limit int
DELETE FROM batch WHERE num = ANY (ARRAY(SELECT num FROM batch WHERE state = 3 AND ended_us < $1
    ORDER BY num LIMIT $2));

-- name: batch_of_member
-- in:  $1 doc int
-- out: @membership@
-- The size is that of the member.
SELECT @membership@ FROM batch_member m JOIN batch b ON b.num = @KEY(m.batch)@ WHERE m.doc = $1;

-- name: batch_of_member_locked
-- in:  $1 doc int
-- out: @membership@
SELECT @membership@ FROM batch b JOIN batch_member m ON b.num = @KEY(m.batch)@ WHERE m.doc = $1 @FOR_UPDATE@;

-- name: batch_page
-- in:  $1 below int, $2 limit int, $3 name int, $4 ended int
-- out: @batches@
-- The newest first.  name 0: any; ended 0: only those that have not.
SELECT @batches@
FROM batch WHERE num < $1 AND ($3 = 0 OR name = $3) AND ($4 = 1 OR state < 3) ORDER BY num DESC LIMIT $2;

-- name: batch_wrong
-- in:  $1 above int, $2 upto int
-- Batches with a wrong member count, with missing members, or closed without a document.
SELECT count(*) FROM batch b WHERE b.num > $1 AND b.num <= $2 AND b.state < 3 AND 1 = CASE
    WHEN b.state < 2 AND b.members < (SELECT count(*) FROM batch_member m WHERE m.batch = b.num) THEN 1
    WHEN b.state = 0 AND b.members <> (SELECT count(*) FROM batch_member m WHERE m.batch = b.num) THEN 1
    WHEN b.state = 2 AND b.doc = 0 THEN 1
    WHEN EXISTS (SELECT 1 FROM batch_member m
                 WHERE m.batch = b.num AND (SELECT d.num FROM doc d WHERE d.num = m.doc) IS NULL) THEN 1
    ELSE 0 END;

-- name: batch_member_strays
-- Members of no batch that could still send them.
SELECT count(*) FROM (SELECT 1 FROM batch_member m LEFT JOIN batch b ON b.num = m.batch
    WHERE b.num IS NULL OR b.state > 2 LIMIT 1000) AS strays;
