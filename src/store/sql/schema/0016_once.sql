-- 0016_once - mutations with a client id, so that they are executed once.

-- question: a digest of the request.  done 0: begun, result not recorded yet.  answer: JSON; NULL:
-- not stored.
CREATE TABLE once(
    who TEXT NOT NULL, client TEXT NOT NULL, question @BYTES@ NOT NULL, made_us @INT@ NOT NULL,
    done @INT@ NOT NULL DEFAULT 0, answer @BYTES@, PRIMARY KEY(who, client)) @CLUSTERED@;
CREATE INDEX once_by_age ON once(made_us);
