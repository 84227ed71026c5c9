/* peer.h - synchronous methods between locations: POST /peer/ask, /peer/put, /peer/get.
 *
 * Another location asks for tables of our databases (link/desk.h), with a key of the admin API that
 * has the right `peer` and whose title is the name of that location in `peers`.  Messages are
 * binary (table/away/message.h), at most node.limits.message_limit bytes long (413); each answer
 * says how many that are: Waybill-Message-Limit.  A database that fails is told in an answer with
 * status 200; 503: too many ask at once.
 *
 * Threads: the pool of its own blocks on the databases, so that no other request waits for them.
 */
#pragma once

#include "base/http_server.h"

struct http_peers;
struct identify;

struct http_peers *http_peers_new(const struct identify *known);
void http_peers_rest(struct http_peers *p); /* what is asked ends soon */
void http_peers_free(struct http_peers *p);

extern const struct http_handler http_peer_handler; /* the handler's arg is a struct http_peers */
