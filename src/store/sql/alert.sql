-- Alerts and their notices.

-- columns alert: num, code, object, message, n, raised_us, last_us, cleared_us, ended,
--      waiting = (SELECT count(*) FROM alert_notice w WHERE w.alert = a.num AND w.state = 0),
--      given_up = (SELECT count(*) FROM alert_notice w WHERE w.alert = a.num AND w.state = 2)
-- columns notice: num, alert, kind, target, made_us, due_us, attempts, state, sent_us, error

-- name: alert_raise
-- in:  $1 num int, $2 code text, $3 object text, $4 message text, $5 n int
-- The number of the one that is open now; it is $1 when it is new.
INSERT INTO alert(num, code, object, message, n, raised_us, last_us, reminded_us)
VALUES ($1, $2, $3, $4, $5, @NOW_US@, @NOW_US@, @NOW_US@)
ON CONFLICT (code, object) WHERE cleared_us = 0 DO UPDATE SET message = excluded.message,
    last_us = excluded.last_us, n = CASE WHEN excluded.n > alert.n THEN excluded.n ELSE alert.n END
RETURNING num;

-- name: alert_count
SELECT count(*) FROM alert WHERE cleared_us = 0;

-- name: alert_drop
-- in:  $1 num int
DELETE FROM alert WHERE num = $1;

-- name: alert_keep
-- in:  $1 code text, $2 object text, $3 message text, $4 n int
UPDATE alert SET message = $3, last_us = @NOW_US@, n = CASE WHEN $4 > n THEN $4 ELSE n END
WHERE code = $1 AND object = $2 AND cleared_us = 0;

-- name: alert_clear
-- in:  $1 code text, $2 object text, $3 ended text
-- The number of the one that was open.
UPDATE alert SET cleared_us = @NOW_US@, ended = $3
WHERE code = $1 AND object = $2 AND cleared_us = 0 RETURNING num;

-- name: alert_remind
-- in:  $1 code text, $2 object text, $3 period int
-- The number of the one that is open and was not told for so long.
UPDATE alert SET reminded_us = @NOW_US@
WHERE code = $1 AND object = $2 AND cleared_us = 0 AND reminded_us <= @NOW_US@ - $3 RETURNING num;

-- name: alert_forget
-- in:  $1 period int
-- Old alerts without waiting notices.
DELETE FROM alert WHERE cleared_us <> 0 AND cleared_us < @NOW_US@ - $1
AND NOT EXISTS (SELECT 1 FROM alert_notice w WHERE w.alert = alert.num AND w.state = 0);

-- name: alert_forget_notices
-- Notices of deleted alerts.
DELETE FROM alert_notice WHERE state <> 0 AND NOT EXISTS (SELECT 1 FROM alert a WHERE a.num = alert_notice.alert);

-- name: alert_open
-- in:  $1 limit int
-- out: @alert@
SELECT @alert@ FROM alert a WHERE cleared_us = 0 ORDER BY num LIMIT $1;

-- name: alert_all
-- in:  $1 limit int
-- out: @alert@
SELECT @alert@ FROM alert a ORDER BY num DESC LIMIT $1;

-- name: alert_one
-- in:  $1 num int
-- out: @alert@
SELECT @alert@ FROM alert a WHERE num = $1;

-- name: notice_add
-- in:  $1 num int, $2 alert int, $3 kind int, $4 target text
INSERT INTO alert_notice(num, alert, kind, target, made_us, due_us)
VALUES ($1, $2, $3, $4, @NOW_US@, @NOW_US@);

-- name: notice_due
-- in:  $1 target text, $2 limit int
-- out: @notice@
-- Of an alert each target hears one after the other.
SELECT @notice@ FROM alert_notice w WHERE state <> 1 AND state = 0 AND due_us <= @NOW_US@ AND (target = $1 OR $1 = '')
AND NOT EXISTS (SELECT 1 FROM alert_notice e WHERE e.alert = w.alert AND e.num < w.num AND e.target = w.target
                AND e.state = 0)
ORDER BY num LIMIT $2;

-- name: notice_of
-- in:  $1 alert int, $2 limit int
-- out: @notice@
SELECT @notice@ FROM alert_notice WHERE alert = $1 ORDER BY num LIMIT $2;

-- name: notice_end
-- in:  $1 num int, $2 state int, $3 wait int, $4 error text
UPDATE alert_notice SET attempts = attempts + 1, state = $2, due_us = @NOW_US@ + $3, error = $4,
    sent_us = CASE WHEN CAST($2 AS BIGINT) = 1 THEN @NOW_US@ ELSE 0 END
WHERE num = $1 AND state = 0;

-- name: notice_sum
-- in:  $1 age int
-- out: waiting, late, given_up, open
-- Late are those that have failed, or are older than that.
SELECT (SELECT count(*) FROM alert_notice WHERE state <> 1 AND state = 0),
    (SELECT count(*) FROM alert_notice WHERE state <> 1 AND state = 0 AND (attempts > 0 OR made_us < @NOW_US@ - $1)),
    (SELECT count(*) FROM alert_notice WHERE state <> 1 AND state = 2),
    (SELECT count(*) FROM alert WHERE cleared_us = 0);
