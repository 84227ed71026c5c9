-- Ordered deliveries (store/road/order.h).  Conditions on turn repeat `turn > 0`, the condition of the partial index.

-- name: order_seq_take
-- only: postgresql
-- in:  $1 n int
-- The last of n numbers.
UPDATE order_seq SET value = value + $1 RETURNING value;

-- name: order_open_add
-- in:  $1 gateway int, $2 seq int, $3 child int
-- batch
INSERT INTO order_open(gateway, seq, child) VALUES ($1, $2, $3);

-- name: order_close
-- in:  $1 gateway int, $2 seq int, $3 child int
-- batch
DELETE FROM order_open WHERE gateway = $1 AND seq = $2 AND child = $3;

-- name: order_close
-- for: postgresql
-- in:  $1 gateway int, $2 seq int, $3 child int
-- batch
DELETE FROM order_open o USING @ROWS@ WHERE o.gateway = @KEY(u.c1)@ AND o.seq = u.c2 AND o.child = u.c3;

-- name: order_close_doc
-- in:  $1 num int
DELETE FROM order_open WHERE (gateway, seq, child) IN
    (SELECT gateway, seq, coalesce(child, 0) FROM doc WHERE num = $1 AND seq <> 0);

-- name: order_close_doc
-- for: postgresql
-- in:  $1 num int
DELETE FROM order_open o USING doc d
WHERE d.num = $1 AND d.seq <> 0 AND o.gateway = @KEY(d.gateway)@ AND o.seq = d.seq AND o.child = coalesce(d.child, 0);

-- name: order_reopen
-- in:  $1 num int
-- batch
-- The document is routed again, at its old position.
INSERT INTO order_open(gateway, seq, child)
SELECT gateway, seq, coalesce(child, 0) FROM doc WHERE num = $1 AND seq <> 0
ON CONFLICT DO NOTHING;

-- name: order_reopen
-- for: postgresql
-- in:  $1 num int
-- batch
INSERT INTO order_open(gateway, seq, child)
SELECT gateway, seq, coalesce(child, 0) FROM doc WHERE num = ANY ($1::bigint[]) AND seq <> 0
ON CONFLICT DO NOTHING;

-- name: order_open_least
-- in:  $1 gateway int
-- out: seq, child
SELECT seq, child FROM order_open WHERE gateway = $1 ORDER BY gateway, seq, child LIMIT 1;

-- name: order_lock
-- only: postgresql
-- in:  $1 lane int
-- batch
-- for: postgresql
-- Which of the lanes nobody else looks at, until the commit.
SELECT u.at FROM unnest($1::bigint[]) WITH ORDINALITY AS u(lane, at) WHERE pg_try_advisory_xact_lock(u.lane);

-- name: order_head
-- in:  $1 lane int
-- batch
-- out: which, num, queue, prio, rank, seq, child, gateway, waits
-- child is that of its document (order.h).  waits is 1 when something before it is not routed.  No row when one of the
-- lane is on its way.
SELECT 1, v.num, v.queue, v.prio, d.received_us AS rank, v.seq, v.child >> 6 AS child, d.gateway,
    EXISTS (SELECT 1 FROM order_open o WHERE o.gateway = d.gateway AND (o.seq, o.child) < (v.seq, v.child >> 6))
FROM delivery v JOIN doc d ON d.num = v.doc
WHERE v.num = (SELECT w.num FROM delivery w WHERE w.turn > 0 AND w.lane = $1 AND w.turn = 1
               ORDER BY w.seq, w.child, w.num LIMIT 1)
    AND NOT EXISTS (SELECT 1 FROM delivery o WHERE o.turn > 0 AND o.lane = $1 AND o.turn = 2);

-- name: order_head
-- for: postgresql
-- in:  $1 lane int
-- batch
-- The first open number of a gateway is looked up once: the scan passes the dead rows of all numbers closed since the
-- last vacuum.
WITH heads AS MATERIALIZED (SELECT u.at, v.num, v.queue, v.prio, d.received_us, v.seq, v.child >> 6 AS child, d.gateway
    FROM unnest($1::bigint[]) WITH ORDINALITY AS u(lane, at)
    CROSS JOIN LATERAL (SELECT w.num, w.doc, w.queue, w.prio, w.seq, w.child FROM delivery w
        WHERE w.turn > 0 AND w.lane = u.lane AND w.turn = 1 ORDER BY w.lane, w.turn, w.seq, w.child, w.num LIMIT 1) v
    JOIN doc d ON d.num = @KEY(v.doc)@
    WHERE (SELECT o.num FROM delivery o WHERE o.turn > 0 AND o.lane = u.lane AND o.turn = 2 LIMIT 1) IS NULL),
least AS MATERIALIZED (SELECT g.gateway, f.seq, f.child
    FROM (SELECT DISTINCT gateway FROM heads) AS g
    LEFT JOIN LATERAL (SELECT o.seq, o.child FROM order_open o WHERE o.gateway = g.gateway
        ORDER BY o.gateway, o.seq, o.child LIMIT 1) AS f ON true)
SELECT h.at AS which, h.num, h.queue, h.prio, h.received_us AS rank, h.seq, h.child, h.gateway,
    CASE WHEN (l.seq, l.child) < (h.seq, h.child) THEN 1::bigint ELSE 0::bigint END
FROM heads h JOIN least l ON l.gateway = h.gateway;

-- name: order_go
-- in:  $1 num int
-- batch
-- Which of them go: one that ended since it was looked at does not.
UPDATE delivery SET turn = 2 WHERE num = $1 AND turn + 0 = 1 AND state IN (0, 3) RETURNING 1;

-- name: order_go
-- for: postgresql
-- in:  $1 num int
-- batch
UPDATE delivery v SET turn = 2 FROM unnest($1::bigint[]) WITH ORDINALITY AS u(num, at)
WHERE v.num = @KEY(u.num)@ AND v.turn + 0 = 1 AND v.state IN (0, 3) RETURNING u.at;

-- name: order_wait
-- in:  $1 num int
UPDATE delivery SET turn = 1 WHERE num = $1;

-- name: order_aside
-- in:  $1 num int
-- Its lane, when it is dead and stood in the way.
UPDATE delivery SET turn = 0 WHERE num = $1 AND turn + 0 = 2 AND state = 6 RETURNING lane;

-- name: order_lanes
-- in:  $1 above int, $2 limit int
-- out: lane, num, state, system, doc_id, id, blocks
-- What of a lane is on its way, and whether others wait.
WITH RECURSIVE q(lane) AS (
    SELECT (SELECT lane FROM delivery WHERE turn > 0 AND lane > $1 ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (SELECT v.lane FROM delivery v WHERE v.turn > 0 AND v.lane > q.lane ORDER BY v.lane LIMIT 1)
    FROM q WHERE q.lane IS NOT NULL)
SELECT p.lane, o.num, o.state, o.system, d.id AS doc_id, o.id,
    CASE WHEN EXISTS (SELECT 1 FROM delivery w WHERE w.turn > 0 AND w.lane = p.lane AND w.turn = 1) THEN 1 ELSE 0 END
FROM (SELECT lane FROM q WHERE lane IS NOT NULL LIMIT $2) AS p
LEFT JOIN delivery o ON o.turn > 0 AND o.lane = p.lane AND o.turn = 2
LEFT JOIN doc d ON d.num = o.doc ORDER BY p.lane;

-- name: order_lanes
-- for: postgresql
-- in:  $1 above int, $2 limit int
WITH RECURSIVE q(lane) AS (
    SELECT (SELECT lane FROM delivery WHERE turn > 0 AND lane > $1 ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (SELECT v.lane FROM delivery v WHERE v.turn > 0 AND v.lane > q.lane ORDER BY v.lane LIMIT 1)
    FROM q WHERE q.lane IS NOT NULL)
SELECT p.lane, o.num, o.state, o.system, d.id AS doc_id, o.id,
    CASE WHEN (SELECT w.num FROM delivery w WHERE w.turn > 0 AND w.lane = p.lane AND w.turn = 1 LIMIT 1) IS NULL
         THEN 0 ELSE 1 END
FROM (SELECT lane FROM q WHERE lane IS NOT NULL LIMIT $2) AS p
LEFT JOIN LATERAL (SELECT w.num, w.state, w.system, w.id, w.doc FROM delivery w
    WHERE w.turn > 0 AND w.lane = p.lane AND w.turn = 2 OFFSET 0) AS o ON true
LEFT JOIN doc d ON d.num = @KEY(o.doc)@ ORDER BY p.lane;

-- name: order_before
-- in:  $1 lane int, $2 num int
-- out: id, state
-- Id of the document and the state of the delivery that is on its way or stands first in a lane.
SELECT d.id, v.state FROM delivery v JOIN doc d ON d.num = @KEY(v.doc)@
WHERE v.turn > 0 AND v.lane = $1 AND v.num <> $2 ORDER BY v.turn DESC, v.seq, v.child, v.num LIMIT 1;
