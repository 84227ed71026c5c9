/* network.h - ranges of addresses.
 *
 * IPv4 is kept as ::ffff:a.b.c.d, so that an IPv4 sender is the same one on a socket that listens
 * on both.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct sockaddr;

struct network_address {
    uint8_t bytes[16];
};

struct network {
    struct network_address base;
    unsigned bits; /* how many of the first bits count, 0 to 128 */
};

/* "10.0.0.0/8", "fd00::/8", or one address without a length.  Bits set behind the length are
 * refused: who writes 10.1.2.3/8 has made a mistake. */
bool network_parse(struct str text, struct network *ret, struct err *err);

/* An address as text, IPv6 without brackets. */
bool network_address_parse(struct str text, struct network_address *ret);

enum { NETWORK_ADDRESS_TEXT = 46 };

/* As people write it: IPv4 without its prefix. */
const char *network_address_text(const struct network_address *address,
                                 char ret[static NETWORK_ADDRESS_TEXT]);

/* Whether it is an address of this machine: one that a socket can be bound to. */
bool network_address_is_here(const struct network_address *address);

/* false: neither IPv4 nor IPv6. */
bool network_address_of(const struct sockaddr *from, struct network_address *ret);

bool network_has(const struct network *network, const struct network_address *address);
bool network_any_has(const struct network *list, size_t count,
                     const struct network_address *address);
