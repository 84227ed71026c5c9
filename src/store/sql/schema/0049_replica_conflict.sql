-- 0049_replica_conflict - rows of links that have lost against others (store/replica/conflict.h).

-- They stand beside the rows that are set aside, of kind `conflict`; due_us is when they go.
CREATE INDEX IF NOT EXISTS replica_set_aside_conflict ON replica_set_aside(due_us) WHERE kind = 'conflict';
