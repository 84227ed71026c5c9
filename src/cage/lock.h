/* lock.h - a process of a cage locks itself up, for good.
 *
 * Before: nothing of a document was read.  After: the process reads and writes one socket, takes
 * memory up to its limit, computes, and ends.  Any other system call kills it.
 *
 *     calls       an allow-list (seccomp); docs/security.md has it
 *     files       none, no TCP, no signals to others, where the kernel has Landlock
 *     limits      memory, time of all its documents, no descriptors, files, processes, core
 *     besides     nice 10, not dumpable, no new privileges
 *
 * Invariant: lock_up() returns true only if the filter and the limit of memory are in force.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "cage/frame.h"

/* The exit status of a process that ran out of memory. */
enum { LOCK_NO_MEMORY = 3 };

/* `fd` is the one descriptor that stays, beside that of /dev/urandom if a library has it open. */
bool lock_up(int fd, const struct frame_setup *limits, struct err *err);
