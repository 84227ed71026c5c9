-- 0016_once - what was asked under an id of its caller, so that it is done once.

-- question: a digest.  done 0: it was begun, and nobody has said how it ended.  answer: JSON; NULL:
-- it was not kept.
CREATE TABLE once(
    who TEXT NOT NULL, client TEXT NOT NULL, question @BYTES@ NOT NULL, made_us @INT@ NOT NULL,
    done @INT@ NOT NULL DEFAULT 0, answer @BYTES@, PRIMARY KEY(who, client)) @CLUSTERED@;
CREATE INDEX once_by_age ON once(made_us);
