/* inside.h - what happens in a process of a cage: documents come over a socket, one after the
 * other, and go through one service (frame.h).
 *
 * Answers are gathered and sent when no other document is waiting, so that a batch costs one call
 * each way; progress.h tells the caller what the process works on meanwhile.  An answer that is
 * older than a millisecond does not wait for the next document.
 */
#pragma once

#include "base/buf.h"
#include "cage/frame.h"
#include "cage/progress.h"

struct inside {
    int fd;
    struct progress *progress;
    struct frame_setup limits;
    char *in; /* FRAME_WHOLE_MOST * 2 bytes */
    size_t at, len;
    struct buf out;
    int64_t oldest_us; /* when the first answer in `out` was finished; 0: none */
    bool flushed;      /* a part of the current answer is on its way */
};

/* Takes its memory now, before limits are set. */
void inside_init(struct inside *s, int fd, struct progress *progress);

/* In a copy of the process: another socket and page, and nothing of what came before. */
void inside_move(struct inside *s, int fd, struct progress *progress);

/* The next frame; the process ends when there is none.  The body is lent until the next call. */
struct frame inside_take(struct inside *s);
void inside_flush(struct inside *s);

/* Does not return: the process ends with its socket. */
_Noreturn void inside_serve(struct inside *s, const struct service_type *t, void *self);
