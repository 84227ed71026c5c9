-- 0006_link - documents derived from documents.

-- kind is enum link_kind (store/road/link.h): an edit of the parent, a member of the batch that the parent
-- is, a copy, an answer, a part.
CREATE TABLE link(
    parent @INT@ NOT NULL, kind @INT@ NOT NULL, child @INT@ NOT NULL,
    PRIMARY KEY(parent, kind, child)) @CLUSTERED@;
CREATE INDEX link_by_child ON link(child, kind);
