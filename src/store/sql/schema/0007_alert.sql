-- 0007_alert - what needs a person or a reaction: raised once, cleared once, told until it is heard.

-- cleared_us 0: it is open; of a code and object one is open at most.  n: how many it is about, at
-- most.  last_us: when it was last seen to be so.
CREATE TABLE alert(
    num @ROWKEY@, code TEXT NOT NULL, object TEXT NOT NULL, message TEXT NOT NULL, n @INT@ NOT NULL,
    raised_us @INT@ NOT NULL, last_us @INT@ NOT NULL, reminded_us @INT@ NOT NULL,
    cleared_us @INT@ NOT NULL DEFAULT 0, ended TEXT NOT NULL DEFAULT '') @PLAIN@;
CREATE UNIQUE INDEX alert_open ON alert(code, object) WHERE cleared_us = 0;
CREATE INDEX alert_by_end ON alert(cleared_us, num);

-- What somebody is to be told of it.  kind: 0 raised, 1 cleared, 2 reminder; state: 0 waits, 1 sent,
-- 2 given up.  target: its name in the configuration.
CREATE TABLE alert_notice(
    num @ROWKEY@, alert @INT@ NOT NULL, kind @INT@ NOT NULL, target TEXT NOT NULL,
    made_us @INT@ NOT NULL, due_us @INT@ NOT NULL, attempts @INT@ NOT NULL DEFAULT 0,
    state @INT@ NOT NULL DEFAULT 0, sent_us @INT@ NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '') @PLAIN@;
CREATE INDEX alert_notice_by_alert ON alert_notice(alert, num);
CREATE INDEX alert_notice_by_state ON alert_notice(state, num) WHERE state <> 1;

-- Numbers of both.
INSERT INTO mark(name, value) VALUES ('alert', 0);
