/* connector.h - what a user can plug in: today, gateways.
 *
 * A connector is one .c file that exports one const struct, and one line in
 * src/connectors.def.  It sees base/, core/ and what is passed to it: never the store,
 * never another connector, never global configuration.  Its options are described in
 * the grammar (core/grammar.h), which feeds parsing, defaults, help and docs.
 *
 * Adding one: 1 copy the nearest neighbour, 2 change it, 3 add the line, 4 say in
 * core/config_runs.c that this build runs it, 5 make test.
 */
#pragma once

#include "base/http_server.h"
#include "core/intake.h"

struct gateway_type {
    const char *name;    /* as written in a configuration: kind: http */
    const char *summary; /* one line for help and console */

    /* A gateway that lives on the node's HTTP server: requests below `path` are its
     * own.  `self` is what open() gave. */
    const char *path;
    const struct http_handler *handler;
    void *(*open)(struct intake *in, const struct intake_port *port);
    void (*close)(void *self);
};

#define GATEWAY(name) extern const struct gateway_type gateway_##name;
#include "connectors.def"
#undef GATEWAY
