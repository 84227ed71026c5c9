/* manual.h - documents that people make: an edit of another document, or a send to the router.
 *
 * An edit takes the name, the content type and the header fields of its original.  It starts either
 * with extraction, as if its gateway had accepted it, or at the router with sender, receiver, type
 * and attributes of the original, replaced where others are given.  Either way it runs with the
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

/* The parts of the engine that are used; all are lent. */
struct manual {
    struct store *store;
    struct intake *intake;
    struct live *live;
    struct road *road;
};

/* The size limit when its gateway is not configured any more. */
#define MANUAL_SIZE_MOST (INT64_C(64) << 20)

enum { MANUAL_WHO_MOST = 100, MANUAL_KEY_MOST = 255, MANUAL_NAME_MOST = 1024 };

struct manual_request {
    bool is_edit;
    struct id original; /* of an edit */
    bool beside;        /* the original stays as it is; else the edit supersedes it */
    struct str gateway; /* of a send: the gateway it counts for */

    bool to_router;     /* start at the router; a send always does */
    struct facts given; /* ptr NULL: as in the original; empty: none */

    struct str name, ctype; /* ptr NULL: as in the original */
    struct str key;         /* idempotency key; empty: none */
    struct str who;         /* for the timeline */
    struct str owner;       /* the namespace of the key */

    /* Whether the caller may edit documents of this sender and receiver (name ids; 0: none); NULL:
     * all, and `sends` is not asked.  An original outside of this scope does not exist for the
     * caller. */
    bool (*sees)(const void *arg, int64_t sender, int64_t receiver);
    /* Whether the caller may send in the name of this system: of every new document. */
    bool (*sends)(const void *arg, int64_t sender);
    const void *sees_arg;
};

/* The bytes: in memory, or in an upload that no document names. */
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

/* Before the bytes are read: could the document be made, and how large may it be?  The first may
 * change until the bytes have come.  ERR_LIMIT with ENOSPC: no space; ERR_TRANSIENT: the store
 * cannot be reached, or the node is stopping. */
bool manual_ask(const struct manual *m, const struct manual_request *q, struct manual_result *ret,
                int64_t *ret_size_most, struct err *err);

/* Moves a body that is too large for a segment entry to an upload. */
bool manual_store(const struct manual *m, struct manual_bytes *io, struct err *err);

/* Makes the document.  An upload that no document names is deleted when this returns, unless the
 * error is ERR_UNCERTAIN. */
bool manual_make(const struct manual *m, const struct manual_request *q,
                 const struct manual_bytes *bytes, struct manual_result *ret, struct err *err);

void manual_metrics_register(void);
void manual_metrics_forget(void);
