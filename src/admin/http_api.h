/* http_api.h - the node's own paths: health, metrics, documents, GraphQL.
 *
 *   GET  /healthz                       the process answers
 *   GET  /readyz                        it accepts documents; otherwise 503 and the reasons
 *   GET  /metrics                       Prometheus text; from other machines with the admin token
 *   GET  /documents/ID                  its state (http/document.h)
 *   GET  /documents/ID/payload          the bytes, with ranges
 *   POST /documents/ID/edit, /documents a document that a person made (http/manual.h)
 *   POST /graphql                       the admin API
 *   GET  /events                        changes, as server-sent events (http/events.h)
 *   /login, /logout, /oidc              login and logout (login/http_login.h)
 *   GET  / and below                    the web console (http/console.h)
 *
 * Whatever needs the store runs in the background pool; the loop only moves bytes.
 */
#pragma once

#include "base/http_server.h"

struct api;
struct arena;
struct engine;
struct http_api;
struct http_server;
struct login;
struct principal;

struct http_api *http_api_new(struct engine *engine, struct api *api);
void http_api_watch(struct http_api *h, const struct http_server *server); /* for its metrics */
void http_api_rest(
    struct http_api *h); /* ends all streams of events; to be called before the server stops */
void http_api_free(struct http_api *h);
struct login *http_api_login(const struct http_api *h);

extern const struct http_handler http_api_handler; /* the handler's arg is the struct http_api */
