/* front.h - dispatches the requests of the node's HTTP server by path.
 *
 * The paths of gateways come from the registry; all other paths go to admin/http_api.h.
 * After the head, events of a request go to the handler that took it (core/http_user.h).
 */
#pragma once

#include "base/http_server.h"

struct front;
struct http_api;
struct intake;

struct front *front_new(struct intake *intake, struct http_api *api);
void front_free(struct front *f);

extern const struct http_handler front_handler; /* the handler's arg is the struct front */
