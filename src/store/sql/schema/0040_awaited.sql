-- 0040_awaited - answers that are awaited (store/road/awaited.h).

-- A delivery that is done, whose system has yet to answer it until due_us.  delivery: its id.  endpoint, system: name
-- ids; endpoint: what waits, an endpoint or a step.  The row goes with the answer, or with the document.
CREATE TABLE IF NOT EXISTS awaited(
    doc @INT@ NOT NULL, delivery TEXT NOT NULL, endpoint @INT@ NOT NULL, system @INT@ NOT NULL,
    due_us @INT@ NOT NULL, PRIMARY KEY(doc, delivery)) @CLUSTERED@;
CREATE INDEX IF NOT EXISTS awaited_by_due ON awaited(endpoint, due_us);
