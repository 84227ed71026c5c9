/* gateway_state.h - what a polling gateway remembers from poll to poll, in the commit of what it
 * took.
 *
 * A gateway that reads from where it stood (a cursor) keeps one text.  It is replaced in the
 * transaction that accepts the documents which the poll found: both are there or neither, so a
 * crash neither skips a source nor takes one twice.  Sources that may be met again are noted in the
 * ledger (ledger.h) in the same transaction.
 *
 * The fence.  Every state has a version that no other one has.  A poll names the version it has
 * read; if another is there by then, the operation is `overtaken` and stores nothing, neither
 * documents nor state.  So a node that lost its turn (ledger.h) and does not know it yet cannot put
 * an old cursor back or take a source again, however long it was frozen.
 *
 * The state belongs to the name of the gateway and stays when the gateway leaves the configuration:
 * when the name comes back, it goes on where it was.  Copies, moves, restores and compact take it
 * along, as all tables.
 *
 * Threads: any that may block; done() on a writer thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "store/kernel/writer.h"

struct store;

/* The most bytes of a state, documents of one operation, notes of one operation. */
enum { GATEWAY_STATE_MOST = 16 << 10, GATEWAY_DOCS_MOST = 64, GATEWAY_NOTES_MOST = 1024 };

struct gateway_state_op {
    struct store_op op; /* verb = &gateway_state_verb; it runs in a group of its own */
    int64_t gateway;    /* name id */
    struct str state;
    int64_t before; /* the version that was read; 0: there was none */
    /* Documents to accept: the `op` of each struct accept_op.  May be none. */
    struct store_op **docs;
    size_t doc_count;
    /* Sources to note in the ledger, as of that time. */
    const struct sha256 *notes;
    size_t note_count;
    int64_t noted_us;

    /* the answer, when op.ok */
    bool overtaken; /* another state came in between: nothing was stored */
    int64_t version;
};

/* A document whose key was used for other bytes fails the whole operation (ERR_PERMANENT). */
extern const struct store_verb gateway_state_verb;

/* Appends the state; *ret_version 0: there is none. */
bool gateway_state_get(struct store *s, int64_t gateway, struct buf *to, int64_t *ret_version,
                       struct err *err);

/* Which of the sources are noted. */
bool gateway_state_known(struct store *s, int64_t gateway, const struct sha256 *keys, size_t count,
                         bool *ret, struct err *err);
