/* listen_socket.h - sockets that listen: for the servers over loops.
 *
 * A name may have several addresses; the caller binds each of them, with one socket or, by
 * SO_REUSEPORT, with one per loop.  Errors are ERR_CONFIG, with errno in `sys`.
 */
#pragma once

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The addresses of a host; NULL or "*": every address of this machine.  freeaddrinfo() them. */
bool listen_socket_resolve(const char *host, struct addrinfo **ret, struct err *err);

/* A socket that is bound and not listening yet; `shared`: others may be bound to the same port.  A
 * port of 0 takes any free one. */
bool listen_socket_bind(const struct addrinfo *a, uint16_t port, bool shared, int *ret_fd,
                        struct err *err);
/* Nobody else is bound to it. */
bool listen_socket_is_free(const struct addrinfo *a, uint16_t port, struct err *err);
uint16_t listen_socket_port(int fd); /* 0: unknown */

/* A descriptor to close when there is no other, so that a connection can be accepted and refused:
 * it would stay in the backlog and wake its loop for ever.  -1: there is none. */
int listen_socket_spare(void);

/* The address does not exist here although its name has it: a machine without IPv6 still resolves
 * such addresses. */
bool listen_socket_may_miss(const struct err *err);
