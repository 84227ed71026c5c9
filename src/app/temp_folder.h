/* temp_folder.h - a folder below $TMPDIR that is removed again.
 *
 * A command that a person may interrupt guards its folder: a process of its own waits for the end
 * of this one, however it ends, and removes what is left.  So nothing has to happen in a handler of
 * a signal, and a kill leaves nothing behind either.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct temp_guard {
    pid_t pid; /* 0: none */
    int fd;    /* its end is the end of this process */
};

/* Makes `$TMPDIR/waybill-WHAT-XXXXXX`, for this user alone.  After a failure `ret` is empty. */
bool temp_folder_make(const char *what, char ret[static PATH_MAX], struct err *err);
/* The same with a guard; call it before there are threads. */
bool temp_folder_make_guarded(const char *what, char ret[static PATH_MAX], struct temp_guard *guard,
                              struct err *err);
/* With all that is in it; what fails is printed.  An empty path is fine. */
void temp_folder_remove(const char *path);
void temp_guard_end(struct temp_guard *guard); /* after that; nothing without one */
