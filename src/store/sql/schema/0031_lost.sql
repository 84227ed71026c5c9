-- 0031_lost - segments and commits that were lost.

-- segment: the newest payload segment that was ever used.  lost_from, lost_upto: the first and last
-- commit whose documents are to be taken in again from the segments (store/recover.h); 0: none.
INSERT INTO mark(name, value) VALUES ('segment', 0), ('lost_from', 0), ('lost_upto', 0)
ON CONFLICT(name) DO NOTHING;
