/* keeper.h - the process that starts and ends the processes of cages: the caller's side.
 *
 * A node gives up early that it can execute anything (base/confine.h).  So one small process, the
 * keeper, is started before that and does nothing but this: it executes the program again for a
 * cage, kills a process when its caller asks for it or is gone, and tells how it ended.  It is the
 * parent of all of them: nobody in the node waits for children.
 *
 * Each process hangs on a leash, a socket to the keeper.  The keeper says over it the process's id,
 * and later the status with which it ended; when the caller closes its end, the process is killed.
 * When the node dies all leashes close, and when the keeper dies the kernel kills its children.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "cage/keeper_word.h"

enum { KEEPER_PROCESSES_MOST = 512 };

struct leash {
    int fd;
    pid_t pid;
};

/* Starts the keeper unless it runs.  Those of its processes that are connections to databases may
 * write in these folders; a keeper that starts by itself has no such limit. */
bool keeper_open(const char *const *folders, size_t count, struct err *err);

/* Starts a process with these two descriptors and no others; they stay the caller's. */
bool keeper_start(enum keeper_task task, int socket, int page, struct leash *ret, struct err *err);
/* The same by a mould (process.h), at the caller's end of its socket: the process is a copy of it.
 */
bool keeper_copy(int mould, int socket, int page, struct leash *ret, struct err *err);
/* From now on the process runs only while nobody else has something to do (SCHED_IDLE).  There is
 * no way back. */
void leash_lower(const struct leash *l);
/* Kills the process if it still runs, and lets go of it.  *ret_status, if not NULL, is as of
 * waitpid(); false: the keeper did not tell in time. */
bool leash_pull(struct leash *l, int *ret_status);

/* The same without waiting for its end. */
void leash_drop(struct leash *l);

/* The words that start the three kinds of processes, after the name of the program. */
#define KEEPER_VERB    "cage"
#define KEEPER_KEEP    "keep" /* then the folders */
#define KEEPER_SERVE   "serve"
#define KEEPER_CONNECT "database"
enum { KEEPER_SOCKET = 0, KEEPER_PAGE = 3 }; /* descriptors of a new process */
