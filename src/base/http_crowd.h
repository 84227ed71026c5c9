/* http_crowd.h - how many connections each address has.
 *
 * Of an IPv6 address the first 64 bits count: a machine has as many addresses below them as it
 * likes.  There is an entry for each address that has a connection, so the limit of connections
 * bounds the table; its hash is keyed, so that nobody can choose addresses that share a place.
 *
 * Threads: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/network.h"

struct http_crowd;

struct http_crowd *http_crowd_new(size_t connections);
void http_crowd_free(struct http_crowd *c); /* accepts NULL */

/* One more; returns how many the address has now. */
uint32_t http_crowd_enter(struct http_crowd *c, const struct network_address *from);
void http_crowd_leave(struct http_crowd *c, const struct network_address *from);

/* Whether they count as one. */
bool http_crowd_same(const struct network_address *a, const struct network_address *b);
