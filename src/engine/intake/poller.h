/* poller.h - polls gateways that look for documents: when, on which node, with what result.
 *
 * Each polling gateway of the configuration is polled every `every`, on a thread of the looks, by
 * the one node that holds its turn (store/govern/ledger.h).  A poll that took as many documents as
 * a poll may is repeated at once; a poll that failed is repeated with exponential back-off and
 * jitter.  A poll that stands still for longer than `timeout` is given up and has failed.  A
 * gateway that cannot be set up (its folder is missing) is retried like one that fails.
 *
 * Notes of sources that have vanished are deleted from the ledger after a week
 * (store/govern/ledger.h), but only when polls have gone well for longer than a connector caches
 * what it knows: so every source that still lies there was renewed before.  A failed poll, a pause,
 * a new configuration, another node's turn or a clock that was set forward restarts that period.
 * Notes of a gateway that is not configured any more are kept.  polled.c has the argument.
 *
 * Results are visible as metrics per gateway, as a log line when failures begin and end, and in
 * poller_troubles().  What a gateway refuses is logged once per name.
 *
 * Bounded: POLLS_MOST polls that do something at the same time, LOOKS_MOST with those that wait in
 * silence for an answer.  Of these FAILING_MOST are of gateways whose last poll failed: a server
 * that hangs leaves places to others, however many gateways ask it.  Of gateways that are due the
 * one comes first that has waited longest since its last poll began.
 *
 * Threads: a thread of its own keeps the time; poller_use() and the rest from any thread that may
 * block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/config.h"
#include "engine/tally/duty_count.h"

struct connectors;
struct crew;
struct egress;
struct mishaps;
struct poller;
struct road;
struct store;

enum { POLLS_MOST = 8, LOOKS_MOST = 64, FAILING_MOST = LOOKS_MOST / 2 };

struct poller_options {
    struct store *store;
    struct crew *looks; /* threads of polls, which may hang; at least LOOKS_MOST */
    struct road *road;  /* NULL: documents wait in the store */
    const struct connectors *connectors;
    enum config_area area;       /* of this node */
    struct mishaps *mishaps;     /* NULL: failures are not counted there */
    const struct egress *egress; /* where polls may connect to; NULL: everywhere */
    int64_t forget_every_us;     /* how long polls go well before a sweep; 0: the default */
    /* Why the node accepts no documents now, or NULL; may be NULL itself. */
    const char *(*closed)(void *arg);
    void *arg;
};

struct poller *poller_new(const struct poller_options *options);
/* Polls begin; after the first poller_use(). */
void poller_run(struct poller *p);
/* No poll begins any more; waits for those under way and releases the turns. */
void poller_stop(struct poller *p);
void poller_free(struct poller *p); /* after poller_stop(); NULL is fine */

/* The gateways of this configuration from now on. */
void poller_use(struct poller *p, struct config *config, int64_t version);

/* Sets up and takes down every polling gateway of a configuration that may come into force.  A
 * permanent error of a connector becomes a problem with a place. */
void poller_try(struct poller *p, struct config *config, struct problem_list *problems);

/* A person has changed something about the gateway: polls it now. */
void poller_try_again(struct poller *p, struct str gateway);

/* Appends why the last poll of a gateway failed; nothing: it went well, or there was none. */
void poller_why(struct poller *p, struct str gateway, struct buf *to);
/* One line for each gateway that has failed a few times in a row. */
void poller_troubles(struct poller *p, struct buf *to);

struct poll_shown {
    char gateway[80];
    int64_t every_us; /* 0: it has not been polled here yet */
    int64_t next_us;  /* wall clock; 0: it is being polled */
    struct duty_count count;
};
/* The polls of gateways on this node, up to `most`; returns how many. */
size_t poller_duties(struct poller *p, struct poll_shown *ret, size_t most);
