/* desk.h - where questions of other locations are answered (table/away/answering.h).
 *
 * A peer may ask for what the configuration in force says of it: databases, or tables of them, and
 * what it may do there (`peers: { NAME: { may: ... } }`).  Of what it may not ask for it is told
 * nothing, not even whether it is there.
 *
 * Some questions are not for a database: rows that have lost there and are listed here, too, and
 * whether a link of ours fits to one of the peer's (desk_shared.c).
 *
 * Threads: any that may block; several at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/settings.h"

struct call;
struct desk;
struct store;

struct desk *desk_new(void);
void desk_free(struct desk *d);

/* One message. */
struct desk_visit {
    const struct settings *settings; /* of the configuration in force; its node is the root */
    struct str peer;                 /* who asks: a name, not necessarily one of `peers` */
    struct call *call;
    struct store *store; /* where rows are kept that links of others have decided */
    size_t most;         /* bytes of a message that we take and send */
    /* Of the answer. */
    struct buf frame;
    /* What was asked, for the audit log: empty, or "orders/customer: install" */
    char installed[200];
};

enum desk_method { DESK_ASK, DESK_PUT, DESK_GET, DESK_METHODS };
extern const char *const desk_methods[DESK_METHODS]; /* "ask" ... */

/* Answers a message; v->frame is the answer, also where it says that something failed.  False: it
 * is no message. */
bool desk_answer(struct desk *d, struct desk_visit *v, enum desk_method method, struct str message,
                 struct err *err);
