/* deposit.h - makes documents that a polling gateway found durable: implements core/deposit.h.
 *
 * Small bodies stay in memory, larger ones go through an upload (store/payload/payload.h).  A
 * commit waits for the writer; those of several documents are queued together.  When the road has
 * room, the document is claimed at birth and goes on at once, like one that came over HTTP.
 *
 * The key of a source is remembered for a week: long enough to recognise a source that a crash left
 * behind.
 *
 * Threads: a depositor belongs to one thread at a time; it may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/metrics.h"
#include "core/call.h"
#include "core/deposit.h"
#include "core/rate.h"
#include "core/units.h"

struct road;
struct store;

#define DEPOSIT_KEY_PERIOD_US (INT64_C(7) * 86400 * 1000000)

enum {
    /* err.sys of an open that was refused only for now; not a failure. */
    DEPOSIT_WAIT = 11, /* EAGAIN */
    /* err.sys of a commit under a key that has a document with other bytes, whose id it gives. */
    DEPOSIT_DIFFERS = 17 /* EEXIST */
};

/* One gateway. */
struct depositor {
    struct store *store;
    struct road *road;   /* NULL: documents wait in the store */
    const char *gateway; /* its name */
    int64_t word;
    int64_t config; /* the version in force */
    int64_t size_most;
    struct units_rate limit, total;
    uint64_t burst;
    struct rate *rate, *rate_total; /* outlive a configuration version */
    struct metric *accepted, *repeated;
    int64_t state_version; /* of the state that was read or written last; 0: there is none */
    struct call *call; /* of the poll: may be given up, and then stores nothing more; may be NULL */

    /* Why the node accepts no documents now, or NULL. */
    const char *(*closed)(void *arg);
    /* Whether this node still has the turn; called now and then during a poll.  May block. */
    bool (*hold)(void *arg, struct err *err);
    bool (*stopping)(void *arg);
    void (*complain)(void *arg, struct str name, const char *why, const char *hint);
    void *arg;
};

extern const struct deposit_port deposit_port; /* its arg is a struct depositor */
