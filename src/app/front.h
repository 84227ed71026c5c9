/* front.h - the one HTTP server of a node, and who answers which path.
 *
 * The paths of gateways come from the registry; everything else is the admin side's.
 * After the head, what happens to a request goes to whoever took it (core/http_user.h).
 */
#pragma once

#include "base/http_server.h"

struct front;
struct http_api;
struct intake;

struct front *front_new(struct intake *intake, struct http_api *api);
void front_free(struct front *f);

extern const struct http_handler front_handler; /* its arg is the struct front */
