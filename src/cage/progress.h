/* progress.h - a page that a process of a cage shares with its caller.
 *
 * The process counts in it the documents that it has begun, so that its caller knows, without a
 * message for each, which one it works on when time is up or when it dies.  Answers of documents
 * before that one may still be in the process's buffer.  The count is the process's word: a caller
 * uses it to choose among the documents that it sent and are not answered, and for nothing else.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum { PROGRESS_BYTES = 4096 };

struct progress {
    _Atomic uint64_t begun; /* documents, since the start of the process */
};
