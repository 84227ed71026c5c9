/* confine.h - gives up, for good, what a process never needs.
 *
 * A process that a hostile input has taken over can do what its user may do.  These functions ask
 * the kernel to allow less, and no later call can take that back:
 *
 *     confine_process   nobody else looks into its memory; no core file, no new privileges
 *     confine_files     only listed folders, and nothing is executed (Landlock)
 *     confine_calls     no system calls that only an intruder would use     (seccomp)
 *     confine_all       no file, no TCP, no other process at all            (Landlock)
 *
 * The kernel may lack Landlock or seccomp, or a container may forbid them: that is an error which
 * the caller reports, and the process runs as before.
 *
 * Threads: the limits are those of the calling thread and of what it starts from then on.  So call
 * all of them before the first thread starts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum confine_access {
    CONFINE_READ,  /* read files, list folders                                             */
    CONFINE_WRITE, /* also make, change, move and remove files and folders; no other nodes */
    CONFINE_RUN    /* read and execute                                                     */
};

/* The path and everything below it.  A path that does not exist is skipped. */
struct confine_rule {
    const char *path;
    enum confine_access access;
};

struct confine_files_report {
    int abi;        /* of the kernel's Landlock; 0: none */
    size_t skipped; /* rules whose path does not exist   */
    bool ports;     /* sockets are bound to the given ports alone */
};

bool confine_process(struct err *err);

/* TCP ports that may be listened on; 0 among them: any free one. */
struct confine_ports {
    const uint16_t *items;
    size_t count;
    bool any;                /* all of them */
    const uint16_t *connect; /* those that may be connected to; NULL: all */
    size_t connect_count;
};

/* From now on files are reached by these rules alone; descriptors that are open stay open.
 * ERR_CONFIG: the kernel has no usable Landlock, nothing was limited. */
bool confine_files(const struct confine_rule *rules, size_t count,
                   const struct confine_ports *ports, struct confine_files_report *ret,
                   struct err *err);

/* From now on no file is opened, no TCP port bound or connected to, and no process outside of this
 * call's domain is signalled, as far as the kernel's Landlock knows these.  Returns its ABI; 0:
 * there is none, nothing was limited. */
int confine_all(void);

/* Refuses (EPERM) calls that a node never makes, and new namespaces; docs/security.md lists them.
 */
bool confine_calls(struct err *err);
/* The same for a process that starts others (cage/keeper.h): it may execute. */
bool confine_calls_of_keeper(struct err *err);
