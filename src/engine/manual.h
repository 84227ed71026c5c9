/* manual.h - documents that people make: an edit of another one, and a send straight to the
 * router.
 *
 * An edit takes the name, the type of content and the fields of its original and begins with
 * extraction, as what its gateway took in; or it goes on at the router with sender, receiver,
 * type and attributes of the original, those that are given in their place.  Either way with the
 * newest configuration.  A send has only what is given.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "core/facts.h"
#include "store/manual/operate.h"
#include "store/segment/segment.h"

struct intake;
struct live;
struct road;
struct store;

/* The parts of the engine that make them; all are lent. */
struct manual {
    struct store *store;
    struct intake *intake;
    struct live *live;
    struct road *road;
};

/* How large it may be when its gateway is gone and says nothing. */
#define MANUAL_SIZE_MOST (INT64_C(64) << 20)

enum { MANUAL_WHO_MOST = 100, MANUAL_KEY_MOST = 255, MANUAL_NAME_MOST = 1024 };

struct manual_request {
    bool is_edit;
    struct id original; /* of an edit */
    bool beside;        /* the original stays as it is; else the edit supersedes it */
    struct str gateway; /* of a send: where it counts as come in */

    bool to_router;     /* a send always is */
    struct facts given; /* a name with ptr NULL: as the original has it; an empty one: none */

    struct str name, ctype; /* ptr NULL: as the original has it */
    struct str key;         /* the same key and bytes make one document; empty: none */
    struct str who;         /* for the timeline */
    struct str owner;       /* whose keys they are: two may use the same without meeting */

    /* Whether they may edit documents of this sender and receiver (words; 0: none); NULL: all.  An
     * original of which they may not is not there; what is made must be one of which they may. */
    bool (*sees)(const void *arg, int64_t sender, int64_t receiver);
    const void *sees_arg;
};

/* Its bytes: in memory, or stored already and named by nobody. */
struct manual_bytes {
    struct str body;
    bool is_spooled;
    struct payload_ref place;
    int64_t size;
    struct sha256 sha256;
};

struct manual_result {
    enum operate_result result; /* OPERATE_DONE: `id` is the document */
    bool repeated;              /* an earlier request with this key made it */
    bool key_differs;           /* OPERATE_NOTHING: the key was used for other bytes */
    struct id id;
    char text[160];
};

/* Before its bytes are read: could it be made, and how large may it be?  The answer to the first
 * may change until they are there.  ERR_LIMIT with ENOSPC: there is no room; ERR_TRANSIENT: the
 * store cannot be reached, or the node is stopping. */
bool manual_ask(const struct manual *m, const struct manual_request *q, struct manual_result *ret,
                int64_t *ret_size_most, struct err *err);

/* A body in memory that is too large for a segment goes to where large ones lie. */
bool manual_store(const struct manual *m, struct manual_bytes *io, struct err *err);

/* Makes it.  Bytes that were stored before and that no document took are gone when it returns,
 * unless the error is ERR_UNCERTAIN. */
bool manual_make(const struct manual *m, const struct manual_request *q,
                 const struct manual_bytes *bytes, struct manual_result *ret, struct err *err);

void manual_metrics_register(void);
void manual_metrics_forget(void);
