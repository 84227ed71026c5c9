/* listeners.h - gateways that listen on a port of their own: opened and closed with the
 * configuration.
 *
 * A port stays open while a gateway of the configuration in force names it; other settings of the
 * gateway are changed under it, and connections that were made under others are closed as soon as
 * no message is under way.  A port that cannot be opened is a reason to refuse a new version
 * (listeners_try); of a version that is in force already, after a restart or on another node, the
 * gateway is broken, says why, and is tried again until it works.
 *
 * Threads: any that may block, but no loop; calls take turns.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "core/config.h"

struct connectors;
struct intake;
struct listeners;
struct loop;
struct mishaps;
struct store;

struct listeners_options {
    struct store *store;
    struct intake *intake;
    const struct connectors *connectors;
    struct loop **loops; /* those of the intake */
    size_t loop_count;
    const struct config_node *node; /* lent: its area and its ports */
    struct mishaps *mishaps;
};

struct listeners *listeners_new(const struct listeners_options *options);
/* Ports may be opened from now on; those of the configuration are. */
void listeners_run(struct listeners *l);
/* Closes all ports; waits for messages under way. */
void listeners_stop(struct listeners *l);
void listeners_free(struct listeners *l); /* after listeners_stop(); accepts NULL */

/* The gateways of this configuration from now on.  Nothing waits for connections that end. */
void listeners_use(struct listeners *l, struct config *config);
/* Certificates may have changed: reads them again. */
void listeners_renew(struct listeners *l);
/* Called about every second: tries again what is broken, reports refused connections. */
void listeners_look(struct listeners *l);

/* Adds a problem for each listening gateway that could not be opened with this configuration:
 * options, certificates, `node.ports`, a port that is taken.  Nothing is opened. */
void listeners_try(struct listeners *l, struct config *config, struct problem_list *problems);

/* Appends why a gateway does not listen; nothing: it does, or is no such gateway. */
void listeners_why(struct listeners *l, struct str gateway, struct buf *to);
/* One line for each gateway that does not listen. */
void listeners_troubles(struct listeners *l, struct buf *to);
