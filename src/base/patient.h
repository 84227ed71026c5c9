/* patient.h - a short call that may hang, such as a look at a folder on a share, with a deadline.
 *
 * The call runs on a thread of its own.  If it does not return in time, the caller goes on without
 * it, and the thread ends when the call does: a thread in the kernel cannot be interrupted.  While
 * such calls hang, further ones get little time and no more than PATIENT_MOST a thread at all, so
 * that many calls to one dead server take about as long as one.
 *
 * For looks that a person waits for.  Work has threads with a crew of their own
 * (engine/threads/crew.h).
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATIENT_MOST = 16 };

/* Runs run(arg) and waits up to patience_us.  True: it has returned, and arg is the caller's again.
 * False: it hangs, or too many others do; drop(arg) is called when it returns, or at once. */
bool patient_call(void (*run)(void *arg), void (*drop)(void *arg), void *arg, int64_t patience_us);

/* How many calls hang now.  A process that ends meanwhile does so by _exit(): they may wake up. */
size_t patient_hanging(void);
