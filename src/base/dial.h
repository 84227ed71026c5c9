/* dial.h - a TCP connection to a host, made by a thread that may block.
 *
 * Every wait has an end: a time, or that nobody wants the result any more (the node stops).  The
 * addresses of a host are tried in turn; those that this node sends nothing to (egress.h) are not
 * connected to.  Only the resolver of the C library cannot be interrupted: it ends by its own
 * limits (resolv.conf), and what comes of it too late is not used.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct egress;

/* Until when somebody waits. */
struct dial_wait {
    int64_t until_us;                /* monotonic */
    bool (*is_over)(const void *of); /* asked several times a second; NULL: never over */
    const void *of;
};

/* Waits until the descriptor has one of the events of poll().  False: ERR_TRANSIENT, ETIMEDOUT when
 * the time is over, ECANCELED when nobody waits any more. */
bool dial_poll(int fd, short events, const struct dial_wait *wait, struct err *err);

/* *ret_fd: a connected socket that does not block, closed on exec, without delay.  egress: NULL
 * allows all.  ERR_TRANSIENT; the text names the host, and no connection was made. */
bool dial(const char *host, uint16_t port, const struct egress *egress,
          const struct dial_wait *wait, int *ret_fd, struct err *err);
