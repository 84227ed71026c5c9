/* operate.h - actions on documents: an operator retries, cancels or discards; a new configuration
 * re-drives (dead.h).
 *
 * A document whose task is claimed is being worked on: it is left alone, and the answer says
 * so (OPERATE_BUSY).  An action on a document is atomic and adds a line to its timeline.
 *
 * The row of a document says where it starts again: with facts (name ids, or bytes of facts) a
 * task of kind TASK_RUN continues at the router, without them at extraction.  doc.config is the
 * version to use.
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"

struct store;

enum operate_action {
    OPERATE_RETRY,
    OPERATE_CANCEL,
    OPERATE_DISCARD,
    OPERATE_DOUBT /* marks waiting deliveries as in doubt after a restore (restore.h, resolve.h) */
};

enum operate_result {
    OPERATE_DONE,
    OPERATE_NONE,    /* there is no such document */
    OPERATE_BUSY,    /* it is being worked on or sent; that outcome will be recorded */
    OPERATE_NOTHING, /* the action does not apply to its state */
};

/* done, unknown, busy, nothing */
extern const char *const operate_results[];

enum retry_from {
    RETRY_AUTO,    /* dead and waiting deliveries now; a dead document at the router */
    RETRY_EXTRACT, /* everything from the start, with the newest configuration */
    RETRY_ROUTE,   /* the same, but sender, receiver and type stay as they are */
    RETRY_DELIVERY /* only the deliveries: the bytes that the steps made are sent again */
};

struct operate_order {
    struct str who; /* for the timeline */
    enum retry_from from;
    bool again;        /* also delivered ones, under new delivery ids */
    bool bulk;         /* one of many: its tasks have a lower priority (PRIO_BULK) */
    int64_t config;    /* the newest version */
    int64_t keep_days; /* retention of documents that end as cancelled; others follow the rules */
    bool restored;     /* members also leave a batch that is closing (restore.h) */
};

struct operate_target {
    struct id id;
    int64_t delivery; /* only this delivery (num); 0: all to which the action applies */
};

struct operate_answer {
    enum operate_result result;
    char text[160]; /* what was done, or why not; one line for people */
};

/* Tasks of PRIO_BULK are claimed when nothing else waits in their queue. */
enum { OPERATE_MOST = 500, PRIO_BULK = 6 };

/* Up to OPERATE_MOST targets in one transaction; ret_answers[i] is of targets[i]. */
bool operate(struct store *s, enum operate_action action, const struct operate_target *targets,
             size_t count, const struct operate_order *order, struct operate_answer *ret_answers,
             struct err *err);
