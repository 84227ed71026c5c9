/* http_api.h - the node's own paths: health, metrics, documents, GraphQL.
 *
 *   GET  /healthz                     the process answers
 *   GET  /readyz                      it accepts documents; otherwise 503; with the right the
 *                                     reasons
 *   GET  /metrics                     Prometheus text
 *   GET  /documents/ID                its state (http/document.h)
 *   GET  /documents/ID/payload        the bytes, with ranges
 *   POST /documents/ID/edit, /documents
 *                                     a document that a person made (http/manual.h)
 *   POST /graphql                     the admin API
 *   GET  /events                      changes, as server-sent events (http/events.h)
 *   POST /work/run, /work/ack         jobs of other nodes, and what became of those that were left
 *                                     to somebody outside (http/work.h)
 *   POST /peer/ask, ...               another location asks for tables (http/peer.h)
 *   /login, /logout, /oidc              login and logout (login/http_login.h)
 *   GET  / and below                    the web console (http/console.h)
 *
 * The reasons of /readyz and /metrics are for who sees all systems, and for node.monitors. Nearness
 * gives nothing: behind a proxy on this machine everybody is near.
 *
 * Whatever needs the store runs in the background pool; the loop only moves bytes.
 */
#pragma once

#include "base/http_server.h"

struct api;
struct arena;
struct config_networks;
struct engine;
struct http_api;
struct http_server;
struct jobs;
struct login;
struct principal;

/* monitors: machines that need no key for metrics and reasons; lent. */
struct http_api *http_api_new(struct engine *engine, struct jobs *jobs, struct api *api,
                              const struct config_networks *monitors);
void http_api_watch(struct http_api *h, const struct http_server *server); /* for its metrics */
void http_api_rest(struct http_api *h); /* ends what lasts; to be called before the server stops */
void http_api_free(struct http_api *h);
struct login *http_api_login(const struct http_api *h);

extern const struct http_handler http_api_handler; /* the handler's arg is the struct http_api */
