/* operate.h - what people do to documents: retry, cancel, discard; and what a new
 * configuration does: re-drive.
 *
 * Each is one transaction per document with a line in its timeline.  A document whose task
 * is claimed is being worked on: it is left alone and the answer says so (OPERATE_BUSY).
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "store/document.h"

struct store;

enum operate_result {
    OPERATE_DONE,
    OPERATE_NONE,    /* there is no such document */
    OPERATE_BUSY,    /* it is being worked on right now */
    OPERATE_NOTHING, /* its state leaves nothing to do; `why` says it */
};

enum retry_from {
    RETRY_AUTO,    /* dead deliveries are sent again; a dead document starts at the router */
    RETRY_EXTRACT, /* everything from the start, with the newest configuration */
    RETRY_ROUTE,   /* the same, but sender, receiver and type stay as they are */
    RETRY_DELIVERY /* only the deliveries: the bytes that were made are sent again */
};

struct operate_order {
    struct str who; /* for the timeline */
    enum retry_from from;
    bool again;     /* also what was delivered, under new delivery ids */
    int64_t config; /* the newest version */
};

struct operate_answer {
    enum operate_result result;
    char why[200];
};

bool operate_retry(struct store *s, const struct id *id, const struct operate_order *order,
                   struct operate_answer *ret, struct err *err);
bool operate_cancel(struct store *s, const struct id *id, const struct operate_order *order,
                    struct operate_answer *ret, struct err *err);
/* A dead letter that nobody will send: the document ends as cancelled, its bytes stay until
 * retention. */
bool operate_discard(struct store *s, const struct id *id, const struct operate_order *order,
                     struct operate_answer *ret, struct err *err);

/* ---- dead letters ------------------------------------------------------------------------- */

struct dead_letter {
    int64_t doc; /* num of its document */
    struct id id;
    int64_t delivery; /* num of the delivery, 0: the document itself */
    struct str code, message;
    int64_t died_us;
    int64_t gateway, sender, receiver, type, endpoint; /* words; 0: none */
    struct str facts; /* texts of unknown names, see core/facts.h */
};

struct dead_filter {
    struct str code;                         /* empty: any */
    int64_t gateway, sender, receiver, type; /* words; 0: any */
    int64_t since_us, until_us;
};

enum { DEAD_PAGE_MOST = 200, DEAD_GROUPS_MOST = 1000 };

/* Oldest first, above `above` (a task id; 0: from the start); bounded as lists are. */
bool dead_list(struct store *s, const struct dead_filter *f, int64_t above, size_t limit,
               struct arena *a, struct dead_letter *ret, size_t *ret_count, int64_t *ret_next,
               struct err *err);

enum dead_by { DEAD_BY_REASON, DEAD_BY_RECEIVER, DEAD_BY_TYPE };

struct dead_group {
    struct str key; /* code, or the name of the receiver or type as found */
    struct str code;
    int64_t count, oldest_us, newest_us;
};

bool dead_groups(struct store *s, enum dead_by by, struct arena *a, struct dead_group *ret,
                 size_t *ret_count, struct err *err);
bool dead_count(struct store *s, int64_t *ret, struct err *err);
