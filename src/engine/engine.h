/* engine.h - a running node without its listeners: store, threads, intake, configuration.
 *
 * Start order is recovery order: the store (which recovers), the threads, the configuration in
 * force; only then does the caller open gateways.  Stopping is the reverse: gateways first, then
 * what was accepted is finished, then the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/err.h"
#include "core/config.h"

struct admin_keys;
struct alerts;
struct backlog;
struct backups;
struct batcher;
struct memory_share;
struct connectors;
struct background;
struct egress;
struct engine;
struct mishaps;
struct file_config;
struct govern;
struct housekeeper;
struct intake;
struct live;
struct loop;
struct manual;
struct listeners;
struct poller;
struct probes;
struct refusals;
struct pool;
struct purger;
struct road;
struct charts;
struct series;
struct spool;
struct store;
struct controls;
struct ways;

struct engine_options {
    const struct config_node *node; /* lent until engine_free() */
    const char *data, *store_url;   /* usable as they are */
    struct str file_text;           /* the configuration file; lent for the call */
    const char *file; /* its name, lent, if it is the truth (file_config.h); else NULL */
    bool confirmed;   /* what it removes is confirmed */
    struct sha256 admin_token;
    struct loop *const *loops; /* running; the caller ends them between stop and free */
    size_t loop_count;
    const struct connectors *connectors;
    struct memory_share *memory; /* of what is on its way in; lent until engine_free() */
    const struct egress *egress; /* where it may send; lent until engine_free() */
};

/* Also after a failure *ret is set: stop and free it. */
bool engine_start(const struct engine_options *options, struct store *store, struct engine **ret,
                  struct err *err);

/* Finishes what was accepted.  The gateways are closed already. */
void engine_stop(struct engine *e);
void engine_free(struct engine *e); /* after engine_stop(); closes the store too */

struct store *engine_store(struct engine *e);
struct housekeeper *engine_housekeeper(struct engine *e);
struct intake *engine_intake(struct engine *e);
const struct connectors *engine_connectors(const struct engine *e);
struct live *engine_live(struct engine *e);
struct file_config *engine_file_config(struct engine *e); /* NULL: the store is the truth */
struct govern *engine_govern(struct engine *e);
struct backlog *engine_backlog(struct engine *e);
struct admin_keys *engine_admin_keys(struct engine *e);
struct refusals *engine_refusals(struct engine *e);
struct batcher *engine_batcher(struct engine *e);
struct controls *engine_controls(struct engine *e);
struct backups *engine_backups(struct engine *e);
struct background *engine_background(struct engine *e);
struct purger *engine_purger(struct engine *e);
const struct manual *engine_manual(const struct engine *e);
struct poller *engine_poller(struct engine *e);
struct listeners *engine_listeners(struct engine *e);
struct probes *engine_probes(struct engine *e);
/* Appends why this node cannot run a gateway now; nothing: it can. */
void engine_gateway_why(struct engine *e, struct str gateway, struct buf *to);
struct road *engine_road(struct engine *e);
struct alerts *engine_alerts(struct engine *e);
struct mishaps *engine_mishaps(struct engine *e);
struct series *engine_series(struct engine *e);
struct charts *engine_charts(struct engine *e);
struct spool *engine_spool(struct engine *e);
const struct egress *engine_egress(const struct engine *e);
struct ways *engine_ways(struct engine *e);
const struct config_node *engine_node(struct engine *e);
struct loop **engine_loops(struct engine *e);
size_t engine_loop_count(const struct engine *e);

enum { ENGINE_LOOPS_MOST = 16 };

/* After engine_stop(): threads that hang in calls to the outside; if there are any, the process
 * must end by _exit(). */
size_t engine_lost(const struct engine *e);
/* What stands on the engine has lost threads, too. */
void engine_add_lost(struct engine *e, size_t count);

/* Why this node should get no traffic now, one reason per line; empty: it is ready. */
void engine_not_ready(struct engine *e, struct buf *to);
/* What an operator should look at, in the same form; the node works all the same. */
void engine_troubles(struct engine *e, struct buf *to);
