-- Reading deliveries of live documents.

-- name: delivery_get
-- in:  $1 num int
SELECT v.num, v.doc, v.id, v.endpoint, v.system, v.queue, v.state, v.attempts, v.first_us, v.due_us, v.updated_us,
       v.code, v.message, v.name, v.status, v.b_seg, v.b_pos, v.b_num, v.b_size, v.b_sha256, d.id,
       v.intent_us, v.asked, v.expires_us, v.lane, v.turn
FROM delivery v JOIN doc d ON d.num = @KEY(v.doc)@ WHERE v.num = $1;

-- name: delivery_of_document
-- in:  $1 doc int, $2 limit int
-- out: as delivery_get
SELECT v.num, v.doc, v.id, v.endpoint, v.system, v.queue, v.state, v.attempts, v.first_us, v.due_us, v.updated_us,
       v.code, v.message, v.name, v.status, v.b_seg, v.b_pos, v.b_num, v.b_size, v.b_sha256, d.id,
       v.intent_us, v.asked, v.expires_us, v.lane, v.turn
FROM delivery v JOIN doc d ON d.num = v.doc WHERE v.doc = $1 ORDER BY v.num + 0 LIMIT $2;
