-- 0007_alert - conditions that need a person: raised once, cleared once, notices retried until delivered.

-- cleared_us 0: open; at most one is open per code and object.  n: the maximum count so far.
-- last_us: when the condition was last observed.
CREATE TABLE alert(
    num @ROWKEY@, code TEXT NOT NULL, object TEXT NOT NULL, message TEXT NOT NULL, n @INT@ NOT NULL,
    raised_us @INT@ NOT NULL, last_us @INT@ NOT NULL, reminded_us @INT@ NOT NULL,
    cleared_us @INT@ NOT NULL DEFAULT 0, ended TEXT NOT NULL DEFAULT '') @PLAIN@;
CREATE UNIQUE INDEX alert_open ON alert(code, object) WHERE cleared_us = 0;
CREATE INDEX alert_by_end ON alert(cleared_us, num);

-- Notices to targets.  kind: 0 raised, 1 cleared, 2 reminder; state: 0 waits, 1 sent,
-- 2 given up.  target: its name in the configuration.
CREATE TABLE alert_notice(
    num @ROWKEY@, alert @INT@ NOT NULL, kind @INT@ NOT NULL, target TEXT NOT NULL,
    made_us @INT@ NOT NULL, due_us @INT@ NOT NULL, attempts @INT@ NOT NULL DEFAULT 0,
    state @INT@ NOT NULL DEFAULT 0, sent_us @INT@ NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '') @PLAIN@;
CREATE INDEX alert_notice_by_alert ON alert_notice(alert, num);
CREATE INDEX alert_notice_by_state ON alert_notice(state, num) WHERE state <> 1;

-- Numbers of both.
INSERT INTO mark(name, value) VALUES ('alert', 0);
