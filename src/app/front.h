/* front.h - dispatches the requests of the node's HTTP server by path.
 *
 * The paths of gateways come from the registry; all other paths go to admin/http_api.h.
 * Before the store is open there is neither: the front waits, and says why.
 * After the head, events of a request go to the handler that took it (core/web/http_user.h).
 */
#pragma once

#include "base/http_server.h"

struct config_networks;
struct front;
struct http_api;
struct intake;

/* A front that waits: liveness is answered, everything else is refused.  monitors: who is told the
 * reason; lent.  No key can be checked yet. */
struct front *front_new(const struct config_networks *monitors);
void front_free(struct front *f);
/* Why it waits; space: for want of it (507). */
void front_wait(struct front *f, const char *why, bool space);
/* From now on requests go to the gateways and to the API. */
void front_open(struct front *f, struct intake *intake, struct http_api *api);

/* Everything but gateways: people and probes get through when senders have taken all connections
 * (a slot of http_server_options; arg is the struct front). */
bool front_is_reserved(void *front, struct str path);

/* Whether the path is that of a gateway. */
bool front_is_gateway(struct str path);

extern const struct http_handler front_handler; /* the handler's arg is the struct front */
