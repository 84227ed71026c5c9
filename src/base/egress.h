/* egress.h - where this node sends nothing, whatever a configuration says.
 *
 * Link-local addresses and metadata services of clouds give credentials of the machine to whoever
 * asks from it, and the administration of the node itself trusts what comes from it.  A person who
 * may write endpoints is not to reach them.  What is asked is the address of the socket, when it is
 * opened: no name, redirect or way to write a number is between the question and the connection.
 * `allowed` are the exceptions (node.egress).
 *
 * With a proxy the address is the proxy's: what lies behind it is the proxy's to decide.
 *
 * Threads: any.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/network.h"
#include "base/str.h"

struct sockaddr;

struct egress {
    const struct network *allowed; /* lent */
    size_t allowed_count;
    bool environment_proxy;              /* use the proxies that the environment names */
    bool (*is_gateway)(struct str path); /* of the own paths those that anybody may send to */
    _Atomic uint16_t own_port;           /* 0: not listening yet */
};

/* Why no connection to this address is made; NULL: it may be.  e NULL: everything may. */
const char *egress_bars(const struct egress *e, const struct sockaddr *to);

/* Whether servers may be connected to: for libraries that open the socket themselves.  servers:
 * names or addresses with commas between them; one that begins with / is a socket of this machine.
 * False: ERR_CONFIG, it may not be; ERR_TRANSIENT, a name cannot be resolved. */
bool egress_allows(const struct egress *e, struct str servers, struct err *err);

/* Why a request is not sent over a connection to this address, as text; NULL: it may be.  url: of
 * the request. */
const char *egress_bars_own(const struct egress *e, const char *ip, int port, struct str url);
