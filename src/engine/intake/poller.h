/* poller.h - gateways that look for documents: when, on which node, and how it goes.
 *
 * Each polling gateway of the configuration is looked at every `every`, on a thread of the pool,
 * by the one node that holds its turn (store/govern/ledger.h).  A look that took as much as one may
 * is repeated at once; one that failed is repeated later and later, with chance in it.  A gateway
 * that cannot be set up (its folder is not there) is tried again like one that fails.
 *
 * What a gateway has taken and does not see any more is forgotten after a week
 * (store/govern/ledger.h), but only behind looks that saw all there is, one after the other for
 * longer than a gateway remembers by itself: so each source that still lies there was renewed
 * before.  A look that failed, a pause, a new configuration, another node's turn or a clock that
 * was set forward make that time begin again.  What a gateway took that is not in the configuration
 * is not forgotten.
 *
 * How it goes is told by metrics for each gateway, by a log line when it begins and ends to
 * fail, and by poller_troubles().  What a gateway refuses is told once for each name.
 *
 * Bounded: POLLS_MOST looks at the same time.
 *
 * Threads: a thread of its own keeps the time; poller_use() and the rest from any that may
 * block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/config.h"

struct connectors;
struct poller;
struct pool;
struct road;
struct store;

enum { POLLS_MOST = 8 };

struct poller_options {
    struct store *store;
    struct pool *pool;
    struct road *road; /* NULL: documents wait in the store */
    const struct connectors *connectors;
    enum config_area area;   /* of this node */
    int64_t forget_every_us; /* how long looks go well before one forgets; 0: as it should be */
    /* Why nothing may be taken in now, or NULL; may be NULL itself. */
    const char *(*closed)(void *arg);
    void *arg;
};

struct poller *poller_new(const struct poller_options *options);
/* Looks begin; after the first poller_use(). */
void poller_run(struct poller *p);
/* No look begins any more; waits for those that go on, and gives the turns back. */
void poller_stop(struct poller *p);
void poller_free(struct poller *p); /* after poller_stop(); NULL is fine */

/* The gateways of this configuration from now on. */
void poller_use(struct poller *p, struct config *config, int64_t version);

/* Set up and take down every polling gateway of a configuration that may come into force: what a
 * connector says can never work is a problem with a place. */
void poller_try(struct poller *p, const struct config *config, struct problem_list *problems);

/* Why the last look of a gateway failed; empty: it went well, or there was none. */
void poller_why(struct poller *p, struct str gateway, struct buf *to);
/* One line for each gateway that has failed a few times in a row. */
void poller_troubles(struct poller *p, struct buf *to);
