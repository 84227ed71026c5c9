/* deposit.h - how a gateway that polls hands in a document.
 *
 * On a thread that may block: open(), put() the bytes piece by piece, commit().  When commit()
 * returned true the document is on stable storage, and only then may the source be removed.  `key`
 * identifies the source for ever (G9): a second deposit of the same key returns the id of the
 * first document and sets *ret_repeated.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"

struct deposit;

/* The most documents of one poll; a poll that took as many is repeated at once. */
enum { DEPOSIT_LOOK_MOST = 500 };

/* How long a gateway may cache that seen() knows a source that still exists.  Then it must ask
 * again, because the ledger expires entries that are not asked for. */
#define DEPOSIT_KNOWN_US (INT64_C(3600) * 1000000)

struct deposit_port {
    /* ERR_LIMIT: no room on the disk or in memory; try again later. */
    bool (*open)(void *arg, struct str name, struct str ctype, struct deposit **ret,
                 struct err *err);
    bool (*put)(struct deposit *d, struct str bytes, struct err *err);
    bool (*commit)(struct deposit *d, struct str key, struct id *ret_id, bool *ret_repeated,
                   struct err *err);    /* ends the deposit */
    void (*abandon)(struct deposit *d); /* ends the deposit; nothing is stored */

    /* The ledger of `after: keep`: sources that were taken and still exist. */
    bool (*seen)(void *arg, struct str key, bool *ret, struct err *err);
    bool (*note_seen)(void *arg, struct str key, struct err *err);
    /* The node is stopping: the poll should end soon. */
    bool (*stopping)(void *arg);
    int64_t (*size_most)(void *arg); /* limits.size of the gateway */
    /* Reports a file that is refused, or a folder that is too full, once; `hint` says what to do
     * about it. */
    void (*complain)(void *arg, struct str name, const char *why, const char *hint);
};
