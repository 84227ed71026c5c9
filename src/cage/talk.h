/* talk.h - the caller's half of a conversation about some documents (frame.h), without its socket.
 *
 * talk_fill() writes what the process may be sent next, talk_hear() reads one of its frames and
 * calls the io of the document that it is about.  A frame that is malformed, or that the rules of
 * frame.h do not allow at this point, breaks the conversation: the process is killed.
 *
 * Invariants
 *   (1) ended <= sent <= count: the process answers the documents in the order in which they went.
 *   (2) what is put in the io of a document, heads included, is at most `output` bytes.
 *   (3) an io that failed is not called again; what the process still says of it is thrown away.
 *
 * A job that ended has its result; of all others it is CAGE_NOT_RUN.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cage/cage.h"
#include "cage/frame.h"

enum {
    TALK_REWINDS_MOST = 4,
    TALK_OUT_MOST = 1 << 20,  /* cap of `out` */
    TALK_OUT_FULL = 256 << 10 /* nothing is added to so much */
};

/* The document that the process answers now. */
struct talk_answer {
    int64_t put; /* bytes */
    size_t parts, notes;
    unsigned rewinds;
    bool begun; /* its io was given something */
    bool none;
    bool over;    /* it has failed on this side; job->failure says why */
    bool overrun; /* ... because of a limit that the process should have kept itself */
};

struct talk {
    struct cage_job *jobs;
    size_t count, sent, ended;
    int64_t output; /* the limit */
    struct buf out; /* for the process */
    struct arena arena;
    int64_t io_us; /* time that was spent in the jobs' io: it is not the process's */

    uint32_t unsent; /* bits: jobs that failed before they were sent */

    bool large;        /* the document that was sent last is larger than its frame */
    bool more, wanted; /* it has further bytes; the process waits for them */
    struct str rest;   /* of the last piece of its io */
    bool at_end;       /* its io has no further one */

    struct talk_answer answer;
    const char *broken; /* which rule the process broke, or NULL */
};

/* The jobs are lent. */
void talk_init(struct talk *t, struct cage_job *jobs, size_t count, int64_t output);
void talk_done(struct talk *t);

/* Adds to `out` what may be sent. */
void talk_fill(struct talk *t);
/* False: the process broke a rule, or has to be killed because of a limit (answer.overrun). */
bool talk_hear(struct talk *t, const struct frame *f);
/* The conversation is over before its end: the io of each job that stays CAGE_NOT_RUN begins
 * again. */
void talk_rewind(struct talk *t);
