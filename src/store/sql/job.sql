-- Recurring work (store/job/job.h).  A task of kind 3 is the token of the job with its id; its priority is 4.

-- columns job: num, name, kind, area, queue, digest, version, turn, due_us, next_us, nominal_us, asked_us, stop,
--      stop_us, stop_until_us, stop_by, stop_why, gone_us, state_number, runs, settled_us, paused_us, last_end_us, served,
--      failures, idle, more, tries, tried_us, first_us, left_out, resets, outcome, message, node_id, began_us, ended_us, ok_us

-- name: job_page
-- in:  $1 above int, $2 limit int
-- out: @job@, holder, open_runs, held_us, awaited_us, awaited_nominal_us
-- The node that has claimed it (PostgreSQL) is its holder, since held_us; the token may wait for a run outside.
SELECT @j.job@, (SELECT l.node_id FROM task_lease l WHERE l.id = @KEY(j.num)@) AS holder,
    (SELECT count(*) FROM job_run r WHERE r.job = @KEY(j.num)@) AS open_runs,
    (SELECT l.until_us FROM task_lease l WHERE l.id = @KEY(j.num)@) AS held_us,
    (SELECT max(r.began_us) FROM job_run r WHERE r.job = @KEY(j.num)@ AND r.waits = 1) AS awaited_us,
    (SELECT max(r.nominal_us) FROM job_run r WHERE r.job = @KEY(j.num)@ AND r.waits = 1) AS awaited_nominal_us
FROM job j WHERE j.num > $1 ORDER BY j.num LIMIT $2;

-- name: job_find
-- in:  $1 name text
-- out: @job@, holder, open_runs, held_us, awaited_us, awaited_nominal_us
SELECT @j.job@, (SELECT l.node_id FROM task_lease l WHERE l.id = @KEY(j.num)@) AS holder,
    (SELECT count(*) FROM job_run r WHERE r.job = @KEY(j.num)@) AS open_runs,
    (SELECT l.until_us FROM task_lease l WHERE l.id = @KEY(j.num)@) AS held_us,
    (SELECT max(r.began_us) FROM job_run r WHERE r.job = @KEY(j.num)@ AND r.waits = 1) AS awaited_us,
    (SELECT max(r.nominal_us) FROM job_run r WHERE r.job = @KEY(j.num)@ AND r.waits = 1) AS awaited_nominal_us
FROM job j WHERE j.name = $1;

-- name: job_kind_page
-- in:  $1 kind text, $2 above int, $3 limit int
-- out: @job@, holder, open_runs, held_us, awaited_us, awaited_nominal_us, state
-- Those of one kind that have not left the configuration, with their states.
SELECT @j.job@, (SELECT l.node_id FROM task_lease l WHERE l.id = @KEY(j.num)@) AS holder,
    (SELECT count(*) FROM job_run r WHERE r.job = @KEY(j.num)@) AS open_runs,
    (SELECT l.until_us FROM task_lease l WHERE l.id = @KEY(j.num)@) AS held_us,
    (SELECT max(r.began_us) FROM job_run r WHERE r.job = @KEY(j.num)@ AND r.waits = 1) AS awaited_us,
    (SELECT max(r.nominal_us) FROM job_run r WHERE r.job = @KEY(j.num)@ AND r.waits = 1) AS awaited_nominal_us, j.state
FROM job j WHERE j.kind = $1 AND j.gone_us = 0 AND j.num > $2 ORDER BY j.num LIMIT $3;

-- name: job_mark
-- Another number when a job came, went or was changed: turns and numbers of states only grow.
SELECT CAST(coalesce(sum(num + turn + state_number), 0) AS BIGINT) FROM job;

-- name: job_lock
-- in:  $1 name text
-- out: @job@
-- The record is locked before its token, by everyone who changes both.
SELECT @job@ FROM job WHERE name = $1 @FOR_UPDATE@;

-- name: job_lock_all
-- in:  $1 above int, $2 limit int
-- out: @job@
SELECT @job@ FROM job WHERE num > $1 ORDER BY num LIMIT $2 @FOR_UPDATE@;

-- name: job_claimed
-- in:  $1 num int
-- batch
-- out: which, @job@, state, open_runs, awaited, backfill
-- With the number of runs without the token, the one for which the token waits, and the backfill whose time was asked for.
SELECT 1, @job@, state, (SELECT count(*) FROM job_run r WHERE r.job = $1) AS open_runs,
    (SELECT max(r.claim) FROM job_run r WHERE r.job = $1 AND r.waits = 1) AS awaited,
    CASE WHEN asked_us = 0 THEN 0
        ELSE coalesce((SELECT b.number FROM job_backfill b WHERE b.job = $1 AND b.nominal_us = job.asked_us), 0) END AS backfill
FROM job WHERE num = $1;

-- name: job_claimed
-- for: postgresql
-- in:  $1 num int
-- batch
SELECT u.at, @j.job@, j.state, (SELECT count(*) FROM job_run r WHERE r.job = @KEY(j.num)@) AS open_runs,
    (SELECT max(r.claim) FROM job_run r WHERE r.job = @KEY(j.num)@ AND r.waits = 1) AS awaited,
    CASE WHEN j.asked_us = 0 THEN 0
        ELSE coalesce((SELECT b.number FROM job_backfill b WHERE b.job = @KEY(j.num)@ AND b.nominal_us = @KEY(j.asked_us)@), 0) END
        AS backfill
FROM unnest($1::bigint[]) WITH ORDINALITY AS u(num, at)
JOIN job j ON j.num = @KEY(u.num)@;

-- name: job_lock_some
-- in:  $1 num int
-- batch
-- out: which, @job@
SELECT 1, @job@ FROM job WHERE num = $1;

-- name: job_lock_some
-- for: postgresql
-- in:  $1 num int
-- batch
SELECT u.at, @j.job@ FROM unnest($1::bigint[]) WITH ORDINALITY AS u(num, at)
JOIN job j ON j.num = @KEY(u.num)@ ORDER BY u.at FOR UPDATE OF j;

-- name: job_later_take
-- in:  $1 due int, $2 id int
DELETE FROM task_later WHERE due_us = $1 AND id = $2;

-- name: job_ready_take
-- in:  $1 queue int, $2 due int, $3 id int
DELETE FROM task_ready WHERE queue = $1 AND prio = 4 AND rank = $2 AND id = $3;

-- name: job_is_leased
-- only: postgresql
-- in:  $1 id int
-- Its lease stays where it is until the commit: a rescue passes over it or waits.
SELECT 1 FROM task_lease WHERE id = $1 FOR UPDATE;

-- name: job_holder
-- only: postgresql
-- in:  $1 id int
-- out: claim, node_id, until_us
SELECT claim, node_id, until_us FROM task_lease WHERE id = $1;

-- name: job_is_anywhere
-- only: postgresql
-- in:  $1 queue int, $2 due int, $3 id int
-- One statement sees the token in one place, however often it moves: 0 means that there is none.
SELECT (SELECT count(*) FROM task_later WHERE due_us = $2 AND id = $3)
     + (SELECT count(*) FROM task_ready WHERE queue = $1 AND prio = 4 AND rank = $2 AND id = $3)
     + (SELECT count(*) FROM task_lease WHERE id = $3);

-- name: job_lease_end
-- only: postgresql
-- in:  $1 id int
DELETE FROM task_lease WHERE id = $1;

-- name: job_lease_lasts
-- only: postgresql
-- in:  $1 id int, $2 claim int, $3 until int, $4 lasts int
-- batch
-- for: postgresql
-- Claims that this transaction has taken.
UPDATE task_lease l SET until_us = c3, lasts_us = c4 FROM @ROWS@ WHERE l.id = @KEY(u.c1)@ AND l.claim = u.c2;

-- name: job_lease_move
-- only: postgresql
-- in:  $1 id int, $2 queue int
-- A rescue puts it into its new queue.
UPDATE task_lease SET queue = $2 WHERE id = $1;

-- name: job_ready_move
-- only: sqlite
-- in:  $1 id int, $2 due int, $3 was int, $4 queue int
UPDATE task_ready SET queue = $4 WHERE queue = $3 AND prio = 4 AND rank = $2 AND id = $1;

-- name: job_follow
-- in:  $1 version int
-- Nothing when another node was first, or follows a newer version.
UPDATE mark SET value = $1 WHERE name = 'jobs' AND value < $1;

-- name: job_add
-- in:  $1 num int, $2 name text, $3 kind text, $4 area text, $5 queue int, $6 digest bytes, $7 version int, $8 due int, $9 stop int,
--      $10 next int, $11 nominal int, $12 settled int, $13 paused int, $14 last_end int, $15 served int, $16 failures int,
--      $17 idle int, $18 more int, $19 tries int, $20 tried int, $21 first int, $22 left_out int
-- batch
INSERT INTO job(num, name, kind, area, queue, digest, version, turn, due_us, stop, next_us, nominal_us, settled_us, paused_us, last_end_us, served, failures, idle, more, tries, tried_us, first_us, left_out)
VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22);

-- name: job_change
-- in:  $1 num int, $2 kind text, $3 area text, $4 queue int, $5 digest bytes, $6 version int, $7 due int, $8 stop int,
--      $9 next int, $10 nominal int, $11 settled int, $12 paused int, $13 last_end int, $14 served int, $15 failures int,
--      $16 idle int, $17 more int, $18 tries int, $19 tried int, $20 first int, $21 left_out int
-- New settings.  What was asked for before it left the configuration is over.
UPDATE job SET kind = $2, area = $3, queue = $4, digest = $5, version = $6, due_us = $7, stop = $8,
    next_us = $9, nominal_us = $10, settled_us = $11, paused_us = $12, last_end_us = $13, served = $14,
    failures = $15, idle = $16, more = $17, tries = $18, tried_us = $19, first_us = $20, left_out = left_out + $21,
    asked_us = CASE WHEN gone_us = 0 THEN asked_us ELSE 0 END, gone_us = 0, turn = turn + 1 WHERE num = $1;

-- name: job_leave
-- in:  $1 num int, $2 version int
UPDATE job SET gone_us = @NOW_US@, version = $2, asked_us = 0, turn = turn + 1 WHERE num = $1;

-- name: job_forget
-- in:  $1 before int, $2 limit int
-- out: num
-- Jobs that left the configuration before, and of which nothing runs.
SELECT num FROM job j WHERE gone_us > 0 AND gone_us < $1
    AND (SELECT l.id FROM task_lease l WHERE l.id = @KEY(j.num)@) IS NULL
    AND NOT EXISTS (SELECT 1 FROM job_run r WHERE r.job = @KEY(j.num)@) ORDER BY num LIMIT $2 @FOR_UPDATE@;

-- name: job_drop
-- in:  $1 num int
-- batch
DELETE FROM job WHERE num = $1;

-- name: job_drop
-- for: postgresql
-- in:  $1 num int
-- batch
DELETE FROM job j USING @ROWS@ WHERE j.num = @KEY(u.c1)@;

-- name: job_drop_states
-- in:  $1 num int
-- batch
DELETE FROM job_state WHERE job = $1;

-- name: job_drop_states
-- for: postgresql
-- in:  $1 num int
-- batch
DELETE FROM job_state s USING @ROWS@ WHERE s.job = @KEY(u.c1)@;

-- name: job_drop_runs
-- in:  $1 num int
-- batch
DELETE FROM job_run WHERE job = $1;

-- name: job_drop_runs
-- for: postgresql
-- in:  $1 num int
-- batch
DELETE FROM job_run r USING @ROWS@ WHERE r.job = @KEY(u.c1)@;

-- name: job_end
-- in:  $1 num int, $2 queue int, $3 due int, $4 stop int, $5 why text, $6 has_state int, $7 state text, $8 outcome int,
--      $9 message text, $10 node int, $11 began int, $12 ended int,
--      $13 next int, $14 nominal int, $15 settled int, $16 paused int, $17 last_end int, $18 served int, $19 failures int,
--      $20 idle int, $21 more int, $22 tries int, $23 tried int, $24 first int, $25 left_out int, $26 asked int
-- batch
-- The end of a run.  A new state comes with has_state 1.
UPDATE job SET queue = $2, due_us = $3, asked_us = $26, turn = turn + 1,
    stop_us = CASE WHEN stop = $4 THEN stop_us ELSE $12 END,
    stop_until_us = CASE WHEN stop = $4 THEN stop_until_us ELSE 0 END,
    stop_by = CASE WHEN stop = $4 THEN stop_by ELSE '' END, stop_why = CASE WHEN stop = $4 THEN stop_why ELSE $5 END,
    stop = $4, state = CASE WHEN $6 = 1 THEN $7 ELSE state END, state_number = state_number + $6, runs = runs + 1,
    resets = 0, outcome = $8, message = $9, node_id = $10, began_us = $11, ended_us = $12,
    ok_us = CASE WHEN $8 = 1 THEN $12 ELSE ok_us END,
    next_us = $13, nominal_us = $14, settled_us = $15, paused_us = $16, last_end_us = $17, served = $18,
    failures = $19, idle = $20, more = $21, tries = $22, tried_us = $23, first_us = $24, left_out = left_out + $25
WHERE num = $1;

-- name: job_end
-- for: postgresql
-- in:  $1 num int, $2 queue int, $3 due int, $4 stop int, $5 why text, $6 has_state int, $7 state text, $8 outcome int,
--      $9 message text, $10 node int, $11 began int, $12 ended int,
--      $13 next int, $14 nominal int, $15 settled int, $16 paused int, $17 last_end int, $18 served int, $19 failures int,
--      $20 idle int, $21 more int, $22 tries int, $23 tried int, $24 first int, $25 left_out int, $26 asked int
-- batch
UPDATE job SET queue = c2, due_us = c3, asked_us = c26, turn = turn + 1,
    stop_us = CASE WHEN stop = c4 THEN stop_us ELSE c12 END,
    stop_until_us = CASE WHEN stop = c4 THEN stop_until_us ELSE 0 END,
    stop_by = CASE WHEN stop = c4 THEN stop_by ELSE '' END, stop_why = CASE WHEN stop = c4 THEN stop_why ELSE c5 END,
    stop = c4, state = CASE WHEN c6 = 1 THEN c7 ELSE state END, state_number = state_number + c6, runs = runs + 1,
    resets = 0, outcome = c8, message = c9, node_id = c10, began_us = c11, ended_us = c12,
    ok_us = CASE WHEN c8 = 1 THEN c12 ELSE ok_us END,
    next_us = c13, nominal_us = c14, settled_us = c15, paused_us = c16, last_end_us = c17, served = c18,
    failures = c19, idle = c20, more = c21, tries = c22, tried_us = c23, first_us = c24, left_out = left_out + c25
FROM @ROWS@ WHERE num = @KEY(c1)@;

-- name: job_put_back
-- in:  $1 num int, $2 due int,
--      $3 next int, $4 nominal int, $5 settled int, $6 paused int, $7 last_end int, $8 served int, $9 failures int,
--      $10 idle int, $11 more int, $12 tries int, $13 tried int, $14 first int, $15 left_out int
-- A claim that was not used: the token waits until then.
UPDATE job SET due_us = $2, turn = turn + 1,
    next_us = $3, nominal_us = $4, settled_us = $5, paused_us = $6, last_end_us = $7, served = $8,
    failures = $9, idle = $10, more = $11, tries = $12, tried_us = $13, first_us = $14, left_out = left_out + $15
WHERE num = $1;

-- name: job_over
-- in:  $1 num int, $2 why text
-- Its schedule has no time any more.
UPDATE job SET stop = 3, stop_us = @NOW_US@, stop_until_us = 0, stop_by = '', stop_why = $2 WHERE num = $1;

-- name: job_state_put
-- in:  $1 job int, $2 number int, $3 state text
-- batch
INSERT INTO job_state(job, number, at_us, state) VALUES ($1, $2, @NOW_US@, $3);

-- name: job_state_trim
-- in:  $1 job int, $2 number int
-- batch
-- Those before the last ones are not kept.
DELETE FROM job_state WHERE job = $1 AND number <= $2;

-- name: job_state_trim
-- for: postgresql
-- in:  $1 job int, $2 number int
-- batch
DELETE FROM job_state s USING @ROWS@ WHERE s.job = @KEY(u.c1)@ AND s.number <= u.c2;

-- name: job_states
-- in:  $1 job int, $2 limit int
-- out: number, at_us, state
SELECT number, at_us, state FROM job_state WHERE job = $1 ORDER BY number DESC LIMIT $2;

-- name: job_set
-- in:  $1 num int, $2 due int, $3 asked int, $4 stop int, $5 stop_us int, $6 until int, $7 by text, $8 why text, $9 resets int,
--      $10 next int, $11 nominal int, $12 settled int, $13 paused int, $14 last_end int, $15 served int, $16 failures int,
--      $17 idle int, $18 more int, $19 tries int, $20 tried int, $21 first int, $22 left_out int
UPDATE job SET due_us = $2, asked_us = $3, stop = $4, stop_us = $5, stop_until_us = $6, stop_by = $7, stop_why = $8, resets = $9,
    next_us = $10, nominal_us = $11, settled_us = $12, paused_us = $13, last_end_us = $14, served = $15,
    failures = $16, idle = $17, more = $18, tries = $19, tried_us = $20, first_us = $21, left_out = left_out + $22,
    turn = turn + 1 WHERE num = $1;

-- name: job_cancelled
-- in:  $1 num int, $2 message text
UPDATE job SET outcome = 3, message = $2, ended_us = @NOW_US@ WHERE num = $1;

-- name: job_reset
-- in:  $1 num int, $2 number int
-- The state that had this number, under the next one; nothing if it is not kept.
UPDATE job SET state = s.state, state_number = job.state_number + 1
FROM job_state s WHERE job.num = $1 AND s.job = $1 AND s.number = $2;

-- name: job_state_copy
-- in:  $1 job int
-- The state that the record has now, among the last ones.
INSERT INTO job_state(job, number, at_us, state) SELECT num, state_number, @NOW_US@, state FROM job WHERE num = $1;

-- name: job_poison
-- in:  $1 num int, $2 why text
UPDATE job SET stop = 2, stop_us = @NOW_US@, stop_until_us = 0, stop_by = '', stop_why = $2, asked_us = 0, turn = turn + 1
WHERE num = $1;

-- Runs without the token (store/job/job_run.h).

-- columns open_run: job, claim, node_id, nominal_us, began_us, until_us, state_number, waits, outside, ack

-- name: job_run_put
-- in:  $1 job int, $2 claim int, $3 node int, $4 nominal int, $5 began int, $6 until int, $7 state_number int, $8 waits int,
--      $9 outside int, $10 ack bytes
INSERT INTO job_run(job, claim, node_id, nominal_us, began_us, until_us, state_number, waits, outside, ack)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: job_run_get
-- in:  $1 job int, $2 claim int
-- out: @open_run@
SELECT @open_run@ FROM job_run WHERE job = $1 AND claim = $2;

-- name: job_run_page
-- in:  $1 job int, $2 limit int
-- out: @open_run@
SELECT @open_run@ FROM job_run WHERE job = $1 ORDER BY claim LIMIT $2;

-- name: job_run_count
-- in:  $1 job int
SELECT count(*) FROM job_run WHERE job = $1;

-- name: job_run_awaited
-- in:  $1 job int
-- When the run is over for which the token waits.
SELECT max(until_us) FROM job_run WHERE job = $1 AND waits = 1;

-- name: job_run_late
-- in:  $1 now int, $2 earlier int, $3 until int, $4 job int, $5 claim int, $6 limit int
-- out: @open_run@
-- Runs whose time is over, behind that one; one for which the token waits only if that was earlier.
SELECT @open_run@ FROM job_run WHERE until_us < $1 AND (waits = 0 OR until_us < $2)
    AND (until_us, job, claim) > ($3, $4, $5) ORDER BY until_us, job, claim LIMIT $6;

-- name: job_run_left
-- in:  $1 now int, $2 node int, $3 job int, $4 claim int, $5 limit int
-- out: @open_run@
-- Runs of nodes that are dead or unknown, whose time is not over, behind that one.
SELECT @open_run@ FROM job_run r WHERE outside = 0 AND until_us >= $1 AND (node_id, job, claim) > ($2, $3, $4)
    AND (SELECT n.state FROM node n WHERE n.node_id = @KEY(r.node_id)@ AND n.state = 0) IS NULL
ORDER BY node_id, job, claim LIMIT $5;

-- name: job_run_alive
-- in:  $1 node int
SELECT count(*) FROM node WHERE node_id = $1 AND state = 0;

-- name: job_run_extend
-- in:  $1 job int, $2 claim int, $3 until int
UPDATE job_run SET until_us = $3 WHERE job = $1 AND claim = $2;

-- name: job_run_drop
-- in:  $1 job int, $2 claim int
-- batch
DELETE FROM job_run WHERE job = $1 AND claim = $2;

-- name: job_run_drop
-- for: postgresql
-- in:  $1 job int, $2 claim int
-- batch
DELETE FROM job_run r USING @ROWS@ WHERE r.job = @KEY(u.c1)@ AND r.claim = u.c2;

-- name: job_ack_put
-- in:  $1 job int, $2 claim int, $3 secret bytes, $4 said bytes, $5 outcome int, $6 stale int, $7 at int
INSERT INTO job_ack(job, claim, secret, said, outcome, stale, at_us) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: job_ack_get
-- in:  $1 job int, $2 claim int
-- out: job, claim, secret, said, outcome, stale
SELECT job, claim, secret, said, outcome, stale FROM job_ack WHERE job = $1 AND claim = $2;

-- name: job_ack_trim
-- in:  $1 job int, $2 before int
DELETE FROM job_ack WHERE job = $1 AND at_us < $2;

-- name: job_drop_acks
-- in:  $1 num int
-- batch
DELETE FROM job_ack WHERE job = $1;

-- name: job_drop_acks
-- for: postgresql
-- in:  $1 num int
-- batch
DELETE FROM job_ack a USING @ROWS@ WHERE a.job = @KEY(u.c1)@;

-- name: job_run_result
-- in:  $1 num int, $2 asked int, $3 stop int, $4 why text, $5 has_state int, $6 state text, $7 outcome int, $8 message text,
--      $9 node int, $10 began int, $11 ended int, $12 failures int
-- The end of a run beside others: the schedule has moved on already.
UPDATE job SET asked_us = $2, turn = turn + 1,
    stop_us = CASE WHEN stop = $3 THEN stop_us ELSE $11 END,
    stop_until_us = CASE WHEN stop = $3 THEN stop_until_us ELSE 0 END,
    stop_by = CASE WHEN stop = $3 THEN stop_by ELSE '' END, stop_why = CASE WHEN stop = $3 THEN stop_why ELSE $4 END,
    stop = $3, state = CASE WHEN $5 = 1 THEN $6 ELSE state END, state_number = state_number + $5, runs = runs + 1,
    outcome = $7, message = $8, node_id = $9, began_us = $10, ended_us = $11,
    ok_us = CASE WHEN CAST($7 AS BIGINT) = 1 THEN $11 ELSE ok_us END, failures = $12 WHERE num = $1;

-- Past times that are still to be served (store/job/job_backfill.h).

-- name: job_backfill_page
-- in:  $1 above int, $2 limit int
-- out: num, name, number, left_over, next_us, last_us, tries, after_us
-- What is left of them, by job.
SELECT j.num, j.name, (SELECT max(b.number) FROM job_backfill b WHERE b.job = @KEY(j.num)@),
    (SELECT count(*) FROM job_backfill b WHERE b.job = @KEY(j.num)@),
    (SELECT min(b.nominal_us) FROM job_backfill b WHERE b.job = @KEY(j.num)@),
    (SELECT max(b.nominal_us) FROM job_backfill b WHERE b.job = @KEY(j.num)@),
    (SELECT b.tries FROM job_backfill b WHERE b.job = @KEY(j.num)@ ORDER BY b.nominal_us LIMIT 1),
    (SELECT b.after_us FROM job_backfill b WHERE b.job = @KEY(j.num)@ ORDER BY b.nominal_us LIMIT 1)
FROM job j WHERE j.num IN (SELECT b.job FROM job_backfill b WHERE b.job > $1) ORDER BY j.num LIMIT $2;

-- name: job_backfill_count
-- in:  $1 job int
SELECT count(*) FROM job_backfill WHERE job = $1;

-- name: job_backfill_first
-- in:  $1 job int
-- out: nominal_us, after_us
SELECT nominal_us, after_us FROM job_backfill WHERE job = $1 ORDER BY nominal_us LIMIT 1;

-- name: job_backfill_put
-- in:  $1 job int, $2 nominal int, $3 number int
-- batch
INSERT INTO job_backfill(job, nominal_us, number) VALUES ($1, $2, $3);

-- name: job_backfill_remove
-- in:  $1 job int
DELETE FROM job_backfill WHERE job = $1;

-- name: job_backfill_give_up
-- in:  $1 job int, $2 number int
DELETE FROM job_backfill WHERE job = $1 AND number = $2;

-- name: job_backfill_done
-- in:  $1 job int, $2 nominal int
DELETE FROM job_backfill WHERE job = $1 AND nominal_us = $2;

-- name: job_backfill_failed
-- in:  $1 job int, $2 nominal int, $3 after int, $4 tries int
UPDATE job_backfill SET tries = tries + $4, after_us = $3 WHERE job = $1 AND nominal_us = $2;

-- name: job_drop_backfill
-- in:  $1 num int
-- batch
DELETE FROM job_backfill WHERE job = $1;

-- name: job_drop_backfill
-- for: postgresql
-- in:  $1 num int
-- batch
DELETE FROM job_backfill b USING @ROWS@ WHERE b.job = @KEY(u.c1)@;

-- What the queue check asks (store/job/job_late.h).

-- columns stopped: num, name, stop, stop_until_us, stop_why

-- columns waiting: num, name, area, due_us

-- name: job_held
-- only: postgresql
-- in:  $1 now int, $2 limit int
-- out: id, claim, node_id, held_us, lasts_us
-- Claims of nodes that live.
SELECT id, claim, node_id, $1 - until_us, lasts_us FROM task_lease l WHERE queue < 0
    AND EXISTS (SELECT 1 FROM node n WHERE n.node_id = @KEY(l.node_id)@ AND n.state = 0)
ORDER BY until_us + lasts_us LIMIT $2;

-- name: job_name
-- in:  $1 num int
-- batch
-- out: which, name
SELECT 1, name FROM job WHERE num = $1;

-- name: job_name
-- for: postgresql
-- in:  $1 num int
-- batch
SELECT u.at, j.name FROM unnest($1::bigint[]) WITH ORDINALITY AS u(num, at) JOIN job j ON j.num = @KEY(u.num)@;

-- name: job_claim_holds
-- in:  $1 job int, $2 claim int
-- batch
-- out: which, claim
-- On SQLite runs without the token only: the claims of tokens are in memory.
SELECT 1, claim FROM job_run WHERE job = $1 AND claim = $2;

-- name: job_claim_holds
-- for: postgresql
-- in:  $1 job int, $2 claim int
-- batch
SELECT u.at, u.claim FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS u(job, claim, at)
WHERE EXISTS (SELECT 1 FROM task_lease l WHERE l.id = @KEY(u.job)@ AND l.claim = u.claim)
    OR EXISTS (SELECT 1 FROM job_run r WHERE r.job = @KEY(u.job)@ AND r.claim = u.claim);

-- name: job_stopped
-- in:  $1 above int, $2 limit int
-- out: @stopped@
-- Suspended jobs, and those that are paused for a time.
SELECT @stopped@ FROM job WHERE num > $1 AND gone_us = 0 AND (stop = 2 OR (stop = 1 AND stop_until_us > 0)) ORDER BY num LIMIT $2;

-- name: job_unclaimed
-- in:  $1 before int, $2 limit int
-- out: @waiting@
-- Tokens that are due, also when nobody has woken them, and those that have been given back since, however often.
SELECT num, name, area, since AS due_us FROM (SELECT j.num, j.name, j.area, j.queue, j.due_us,
        CASE WHEN j.asked_us = 0 AND j.next_us > 0 AND j.next_us < j.due_us
            AND NOT EXISTS (SELECT 1 FROM job_run r WHERE r.job = @KEY(j.num)@ AND r.waits = 1) THEN j.next_us ELSE j.due_us END AS since
    FROM job j) AS w WHERE since < $1 AND (
        EXISTS (SELECT 1 FROM task_ready t WHERE t.queue = @KEY(w.queue)@ AND t.prio = 4 AND t.rank = w.due_us AND t.id = w.num)
        OR EXISTS (SELECT 1 FROM task_later t WHERE t.due_us = @KEY(w.due_us)@ AND t.id = w.num))
ORDER BY since, num LIMIT $2;

-- name: job_upto
-- in:  $1 above int, $2 most int
SELECT max(num) FROM (SELECT num FROM job WHERE num > $1 ORDER BY num LIMIT $2) AS slice;

-- name: job_tokenless
-- in:  $1 above int, $2 upto int
-- out: @waiting@
SELECT @waiting@ FROM job WHERE num > $1 AND num <= $2 AND gone_us = 0 AND (stop = 0 OR asked_us <> 0)
    AND (SELECT count(*) FROM task_later t WHERE t.due_us = @KEY(job.due_us)@ AND t.id = job.num) = 0
    AND (SELECT count(*) FROM task_ready t WHERE t.queue = @KEY(job.queue)@ AND t.prio = 4 AND t.rank = job.due_us AND t.id = job.num) = 0
    AND (SELECT count(*) FROM task_lease t WHERE t.id = @KEY(job.num)@) = 0
ORDER BY num;

-- name: job_slice
-- in:  $1 above int, $2 most int
-- out: @slice@
SELECT @slice@ FROM (SELECT num FROM job WHERE num > $1 ORDER BY num LIMIT $2) AS slice;

-- name: job_wrong
-- in:  $1 above int, $2 upto int
-- Jobs that should run and have no token, jobs that have two, and jobs whose state is not the last of those that are kept.
SELECT count(*) FROM job j WHERE j.num > $1 AND j.num <= $2 AND 1 = CASE
    WHEN j.state_number > 0 AND (SELECT max(s.number) FROM job_state s WHERE s.job = @KEY(j.num)@) <> j.state_number THEN 1
    WHEN j.state_number > 0 AND (SELECT s.number FROM job_state s WHERE s.job = @KEY(j.num)@ AND s.number = j.state_number) IS NULL THEN 1
    WHEN (SELECT count(*) FROM task_later t WHERE t.due_us = @KEY(j.due_us)@ AND t.id = j.num)
        + (SELECT count(*) FROM task_ready t WHERE t.queue = @KEY(j.queue)@ AND t.prio = 4 AND t.rank = j.due_us AND t.id = j.num)
        + (SELECT count(*) FROM task_lease t WHERE t.id = @KEY(j.num)@) > 1 THEN 1
    WHEN j.gone_us <> 0 THEN 0
    WHEN j.stop <> 0 AND j.asked_us = 0 THEN 0
    WHEN EXISTS (SELECT 1 FROM task_later t WHERE t.due_us = @KEY(j.due_us)@ AND t.id = j.num) THEN 0
    WHEN EXISTS (SELECT 1 FROM task_ready t WHERE t.queue = @KEY(j.queue)@ AND t.prio = 4
        AND t.rank = j.due_us AND t.id = j.num) THEN 0
    WHEN EXISTS (SELECT 1 FROM task_lease t WHERE t.id = @KEY(j.num)@) THEN 0
    ELSE 1 END;
