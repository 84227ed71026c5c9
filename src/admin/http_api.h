/* http_api.h - the node's own paths: health, metrics, documents, GraphQL.
 *
 *   GET  /healthz                       the process answers
 *   GET  /readyz                        it takes documents; else 503 and the reasons
 *   GET  /metrics                       Prometheus text; from afar with the admin token
 *   GET  /documents/ID                  its state, for the key that sent it or the admin
 *   GET  /documents/ID/payload          the bytes, with ranges
 *   POST /documents/ID/edit, /documents a document that a person made (http_manual.h)
 *   POST /graphql                       the admin API
 *
 * Whatever touches the store runs at the desk; the loop only moves bytes.
 */
#pragma once

#include "base/http_server.h"

struct api;
struct engine;
struct http_api;
struct http_server;

struct http_api *http_api_new(struct engine *engine, struct api *api);
void http_api_watch(struct http_api *h, const struct http_server *server); /* for its metrics */
void http_api_free(struct http_api *h);

extern const struct http_handler http_api_handler; /* its arg is the struct http_api */

/* For handlers beside it: the request carries the admin token; the node. */
bool http_api_is_admin(const struct http_api *h, const struct http_request *r);
struct engine *http_api_engine(const struct http_api *h);
