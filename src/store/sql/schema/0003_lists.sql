-- 0003_lists - the index behind the write keeps lists, not single numbers.

-- only: sqlite
-- key: kind, word and the number of the first document (kind * 2^60 + word * 2^40 + num); `more` has
-- the others of its slice, each as the distance to the one before (base/varint.h).  Kinds:
-- store/search/index.h.  It is filled anew: to SQLite << and | bind alike, and the kind was lost.
DROP TABLE facet;
CREATE TABLE facet(key INTEGER PRIMARY KEY, more BLOB) STRICT;
UPDATE mark SET value = 0 WHERE name = 'indexed';
-- end
