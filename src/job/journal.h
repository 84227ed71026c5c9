/* journal.h - writes the log of runs (store/job/job_log.h), apart from their ends.
 *
 * A log that cannot be written ends no work: lines wait here, up to JOURNAL_LINES and
 * JOURNAL_BYTES, and what comes then is dropped and counted, and so is a line that the store
 * refuses for good.  Tables of old days are dropped now and then.
 *
 * Threads: put from any; a thread of its own writes.
 */
#pragma once

#include "store/job/job_log.h"

struct journal;
struct store;

enum { JOURNAL_LINES = 20000, JOURNAL_BYTES = 16 << 20 };

struct journal *journal_start(struct store *s);
void journal_put(struct journal *g, const struct job_log_line *line); /* copies it */
/* Writes what waits, if the store takes it; ends the thread.  What is put later is dropped. */
void journal_stop(struct journal *g);
void journal_free(struct journal *g); /* after journal_stop(); NULL is fine */
