/* operate.h - what people do to documents: retry, cancel, discard; and what a new
 * configuration does: re-drive (dead.h).
 *
 * A document whose task is claimed is being worked on: it is left alone and the answer says
 * so (OPERATE_BUSY).  What is done to a document is done whole, with a line in its timeline.
 *
 * Where it starts again is in its row: a task of kind TASK_RUN whose document has facts
 * (words, or bytes of facts) goes on at the router with them; one that has none begins with
 * extraction.  doc.config is the version to use.
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
    OPERATE_DOUBT /* what waits may have arrived: a person says (restore.h, resolve.h) */
};

enum operate_result {
    OPERATE_DONE,
    OPERATE_NONE,    /* there is no such document */
    OPERATE_BUSY,    /* it is being worked on or being sent right now: the outcome is recorded */
    OPERATE_NOTHING, /* its state leaves nothing to do */
};

/* done, unknown, busy, nothing */
extern const char *const operate_results[];

enum retry_from {
    RETRY_AUTO,    /* dead and waiting deliveries now; a dead document at the router */
    RETRY_EXTRACT, /* everything from the start, with the newest configuration */
    RETRY_ROUTE,   /* the same, but sender, receiver and type stay as they are */
    RETRY_DELIVERY /* only the deliveries: what was made is sent again */
};

struct operate_order {
    struct str who; /* for the timeline */
    enum retry_from from;
    bool again;        /* also what was delivered, under new delivery ids */
    bool bulk;         /* one of many: it stands behind what comes in now */
    int64_t config;    /* the newest version */
    int64_t keep_days; /* how long a document is kept that ends as cancelled; others by rule */
    bool restored;     /* members also leave a batch that is closing (restore.h) */
};

struct operate_target {
    struct id id;
    int64_t delivery; /* only this one (num); 0: all that the action fits */
};

struct operate_answer {
    enum operate_result result;
    char text[160]; /* what was done, or why not; one line for people */
};

/* Tasks that were put by many are claimed when nothing else waits in their queue. */
enum { OPERATE_MOST = 500, PRIO_BULK = 6 };

/* Up to OPERATE_MOST targets in one transaction; ret_answers[i] is of targets[i]. */
bool operate(struct store *s, enum operate_action action, const struct operate_target *targets,
             size_t count, const struct operate_order *order, struct operate_answer *ret_answers,
             struct err *err);
