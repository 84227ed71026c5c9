-- Reading deliveries of live documents.

-- columns delivery: num, doc, id, endpoint, system, queue, state, attempts, first_us, due_us, updated_us,
--      code, message, name, status, b_seg, b_pos, b_num, b_size, b_sha256, intent_us, asked, expires_us, lane, turn,
--      doc_id = d.id

-- name: delivery_find
-- in:  $1 num int
-- batch
-- out: which, @delivery@
SELECT 1, @v.delivery@
FROM delivery v JOIN doc d ON d.num = v.doc WHERE v.num = $1;

-- name: delivery_find
-- for: postgresql
-- in:  $1 num int
-- batch
SELECT u.at, @v.delivery@ FROM unnest($1::bigint[]) WITH ORDINALITY AS u(num, at)
JOIN delivery v ON v.num = @KEY(u.num)@ JOIN doc d ON d.num = @KEY(v.doc)@;

-- name: delivery_of_document
-- in:  $1 doc int, $2 limit int
-- out: @delivery@
SELECT @v.delivery@
FROM delivery v JOIN doc d ON d.num = v.doc WHERE v.doc = $1 ORDER BY v.num + 0 LIMIT $2;
