/* reply_read.h - what a document whose sender waits has come to, as the store has it.
 *
 * Threads: one that may block.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/intake.h"
#include "core/timeline.h"
#include "core/verdict.h"

struct store;

struct reply_read {
    struct intake_reply reply; /* its id is given; the rest is views of what follows */
    struct buf body;
    char code[64], message[VERDICT_MESSAGE_MOST], ctype[TIMELINE_NAME_MOST + 1];
};

void reply_read_done(struct reply_read *r);

/* Reads the document and the answer that was kept with it.  *ret_ended false: the sender has to
 * wait on.  False: the store failed, and the same may be asked again. */
bool reply_read(struct store *s, struct reply_read *r, bool *ret_ended, struct err *err);
