-- 0003_lists - the asynchronous index stores lists, not single numbers.

-- only: sqlite
-- key: kind, name id and the number of the first document (kind * 2^60 + name id * 2^40 + num); `more` has
-- the others of its slice, each as the difference to the one before (base/varint.h).  Kinds:
-- store/search/index.h.  Rebuilt: in SQLite << and | have equal precedence, and the kind was lost.
DROP TABLE facet;
CREATE TABLE facet(key INTEGER PRIMARY KEY, more BLOB) STRICT;
UPDATE mark SET value = 0 WHERE name = 'indexed';
-- end
