/* http_api.h - the node's own paths: health, metrics, documents, GraphQL.
 *
 *   GET  /healthz                       the process answers
 *   GET  /readyz                        it takes documents; else 503 and the reasons
 *   GET  /metrics                       Prometheus text; from afar with the admin token
 *   GET  /documents/ID                  its state, for the key that sent it or the admin
 *   GET  /documents/ID/payload          the bytes, with ranges
 *   POST /documents/ID/edit, /documents a document that a person made (http_manual.h)
 *   POST /graphql                       the admin API
 *   GET  /events                        what changes (http_events.h)
 *   /login, /logout, /oidc              the ways in and out (http_login.h)
 *   GET  / and below                    the web console (http_console.h)
 *
 * Whatever touches the store runs at the background pool; the loop only moves bytes.
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
    struct http_api *h); /* what has no end of its own ends; before the server stops */
void http_api_free(struct http_api *h);
struct login *http_api_login(const struct http_api *h);

extern const struct http_handler http_api_handler; /* its arg is the struct http_api */
