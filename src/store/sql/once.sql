-- Idempotent mutations: requests with a client id (store/audit/once.h).

-- name: once_add
-- in:  $1 who text, $2 client text, $3 question bytes
INSERT INTO once(who, client, question, made_us) VALUES ($1, $2, $3, @NOW_US@)
ON CONFLICT (who, client) DO NOTHING;

-- name: once_get
-- in:  $1 who text, $2 client text
-- out: question, done, answer, age_us
SELECT question, done, answer, @NOW_US@ - made_us FROM once WHERE who = $1 AND client = $2;

-- name: once_end
-- in:  $1 who text, $2 client text, $3 answer bytes
UPDATE once SET done = 1, answer = $3 WHERE who = $1 AND client = $2 AND done = 0;

-- name: once_drop
-- in:  $1 who text, $2 client text
DELETE FROM once WHERE who = $1 AND client = $2 AND done = 0;

-- name: once_forget
-- in:  $1 age int
DELETE FROM once WHERE made_us < @NOW_US@ - $1;
