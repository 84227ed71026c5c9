/* cut.h - the frame in which a document is cut into parts.
 *
 * Two passes.  The first one checks the whole document and counts, so that a document that is wrong
 * at its end, or has too many parts, gives none at all.  The second one gives the parts, each with
 * the number of all.  Parts that are slices of the document (cut_slice()) are marked by the first
 * pass, up to CUT_MARKS_MOST of them: then the second one reads the bytes and need not understand
 * them again.
 *
 * A cutter knows one format.  It goes through the document from front to end and says where each
 * part begins and ends; it does not know which pass it is in.  The frame reads the pieces, keeps
 * those bytes that a part may still need, counts, and gives the parts away.
 *
 * Memory: the part that is being read, at most CUT_PART_MOST bytes, a piece, and the marks.
 */
#pragma once

#include "core/service.h"

enum {
    CUT_PART_MOST = SERVICE_BYTES_MOST,
    CUT_RATIO = 100,    /* all parts together have at most so many times the document's size, */
    CUT_FREE = 1 << 20, /* or so many bytes if that is more */
    CUT_MARKS_MOST = 1 << 18,
};

/* The options of one step. */
struct cut_rule {
    const struct cutter *cutter;
    struct str text; /* the path, pointer or word of the cutter's key */
    int64_t count;   /* its number: lines or rows per part */
    int64_t most;
    bool bad_all;
    void *plan; /* what the cutter made of its key; on the arena of the step */
};

struct cut;
struct cut_marks;

struct cutter {
    const char *key; /* the option that names it */
    bool counts;     /* its value is a number */
    bool (*make)(struct cut_rule *s, struct arena *a, struct err *err); /* may be NULL */
    bool (*run)(const struct cut_rule *r, struct cut *c);
};

extern const struct cutter cut_xml, cut_json, cut_hl7, cut_x12, cut_edifact, cut_lines, cut_csv,
    cut_zip;

/* Cuts a document, as the stream() of a service.  Without a part the result is no document. */
bool cut_run(const struct cut_rule *rule, struct service_io *io,
             struct service_failure *ret_failure);

/* ---- for cutters: every call that returns false has set the failure ---- */

/* One run through the document. */
struct cut {
    const struct cut_rule *rule;
    struct service_io *io;
    struct service_failure *failure;
    bool gives;    /* the second time */
    int64_t parts; /* so far */
    int64_t total; /* of the second time: how many there are */
    int64_t out;   /* bytes of the parts so far */
    struct cut_marks *marks;

    struct str bytes;  /* what was read and is kept: of the io's piece, or in `window` */
    int64_t base;      /* the offset of its first byte */
    struct str piece;  /* the rest of the io's piece */
    struct buf window; /* what is kept of earlier pieces, and one block more */
    struct buf joined; /* a part whose bytes stand at several places */
};

/* Reads the first bytes of a document that is text, without a byte order mark: *ret_at is 3 if
 * there is one, else 0.  UTF-16 is refused. */
bool cut_first(struct cut *c, struct str *ret, int64_t *ret_at);
/* Reads the next bytes of the document; *ret is a view of them, empty at the end.  Bytes before the
 * offset `keep` are not needed any more. */
bool cut_next(struct cut *c, int64_t keep, struct str *ret);
int64_t cut_end(const struct cut *c); /* the offset behind what was read */
/* Bytes [from, to), which were kept; lent until the next cut_next(). */
struct str cut_view(const struct cut *c, int64_t from, int64_t to);
/* A part, made of slices one behind the other; `at` is where it begins, `name` may be empty. */
bool cut_part(struct cut *c, struct str name, const struct str *slices, size_t count, int64_t at);
/* The same for a part that is the bytes [from, to), which were kept, with a text in between: in
 * front of the offset `from + at`.  Most parts of a document have the same one, or none. */
bool cut_slice(struct cut *c, int64_t from, int64_t to, struct str text, size_t at);
/* The document is wrong at this offset.  The message gets the byte and the line, both from 1. */
bool cut_fail(struct cut *c, enum dead_code code, int64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
