/* frame.h - the messages between a caller and a process of a cage.
 *
 * Both ends are the same program on the same machine, but the process may have been taken over by
 * the document it works on.  So what comes from it is read with every length checked, and a frame
 * that says something else than this file is the end of the process.
 *
 * Format      u32 length of the body, u8 kind, u8 flags, u16 zero; then the body.  Numbers are in
 *             the order of the machine.  A text in a body has its length plus one in front, as a
 *             varint; 0 is a text that is not set (ptr NULL).
 *
 * Conversation
 *   caller    SETUP RECIPE...                          once
 *   process   READY or REFUSED; READY with FRAME_LAST: it is a mould (process.h), and serves
 * nothing caller    DOCUMENT...                              several before the first answer
 *   process   for each, in order: (OUT PART NONE NOTE)... then END or FAIL
 *   A DOCUMENT without FRAME_LAST has more bytes than the frame: the process sends WANT, and gets a
 *   PIECE (FRAME_LAST: the last one) or STOP; REWIND before a WANT begins again with the first
 *   byte.  The next DOCUMENT follows after its END.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "core/service.h"

enum frame_kind {
    FRAME_SETUP = 1, /* struct frame_setup, then the name of the service */
    FRAME_RECIPE,    /* a piece of the options */
    FRAME_DOCUMENT,  /* a head, then bytes */
    FRAME_PIECE,
    FRAME_STOP, /* the document cannot be read on: end it */

    FRAME_READY = 16,
    FRAME_REFUSED, /* why, for people */
    FRAME_WANT,
    FRAME_REWIND,
    FRAME_OUT,
    FRAME_PART, /* a head of a part */
    FRAME_NONE,
    FRAME_NOTE,
    FRAME_END,
    FRAME_FAIL, /* u8 enum dead_code, then the message */

    FRAME_SQL_FIRST = 32, /* those of another conversation: sql/sql_wire.h */
    FRAME_SQL_LAST = 47
};

enum { FRAME_LAST = 1 }; /* a flag */

enum {
    FRAME_HEADER = 8,
    FRAME_BODY_MOST = 128 << 10,
    FRAME_WHOLE_MOST = FRAME_HEADER + FRAME_BODY_MOST,
    FRAME_HEAD_MOST = 64 << 10 /* of a document or part */
};

struct frame {
    enum frame_kind kind;
    bool last;
    struct str body; /* a view */
};

/* The body of SETUP begins with it. */
struct frame_setup {
    int64_t time_us, memory, output, documents;
    int64_t mould; /* 1: be one, if the service is `copied` */
};

enum frame_take { FRAME_INCOMPLETE, FRAME_TAKEN, FRAME_MALFORMED };

/* Takes a frame off the front of *bytes, which stay as they are unless it was TAKEN. */
enum frame_take frame_take(struct str *bytes, struct frame *ret);

/* Appends a frame; the body is at most FRAME_BODY_MOST, the cap of `to` is the caller's matter. */
void frame_put(struct buf *to, enum frame_kind kind, bool last, struct str body);
/* For a body that is written in place: begin, append to `to`, end. */
size_t frame_begin(struct buf *to, enum frame_kind kind);
void frame_end(struct buf *to, size_t begun, bool last);

/* ---- heads ---- */

/* False: it is larger than FRAME_HEAD_MOST, and nothing was appended.  `size` is that of
 * service_io. */
bool frame_put_document(struct buf *to, const struct service_document *d, int64_t size);
/* Takes a head off the front of *body; the texts are views into it, the rest lives on the arena. */
bool frame_take_document(struct str *body, struct arena *a, struct service_document *ret,
                         int64_t *ret_size);

/* False: it is larger than FRAME_HEAD_MOST or has too many attributes; nothing was appended. */
bool frame_put_part(struct buf *to, const struct service_part *p);
/* The body is the head and nothing else. */
bool frame_take_part(struct str body, struct arena *a, struct service_part *ret);
