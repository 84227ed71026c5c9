/* deposit.h - how a gateway that polls hands in a document.
 *
 * On a thread that may block: open(), put() the bytes piece by piece, commit().  When commit()
 * returned true the document is on stable storage, and only then may the source be removed.  `key`
 * identifies the source for ever (G9): a second deposit of the same key returns the id of the
 * first document and sets *ret_repeated.
 *
 * Each commit() costs two syncs of the disk.  For many small sources keep several deposits open and
 * end them with one commit_all(): they share a group commit, and are accepted in their order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"

struct call;
struct deposit;

/* The most documents of one poll; a poll that took as many is repeated at once. */
enum { DEPOSIT_LOOK_MOST = 500 };

/* How long a gateway may cache that seen() knows a source that still exists.  Then it must ask
 * again, because the ledger expires entries that are not asked for. */
#define DEPOSIT_KNOWN_US (INT64_C(3600) * 1000000)

/* One of several documents that are committed together. */
struct deposit_commit {
    struct deposit *deposit;
    struct str key;

    /* the answer */
    bool ok, repeated;
    struct id id;
    struct err err; /* when it is not ok */
};

/* The most of one commit_all(). */
enum { DEPOSIT_COMMIT_MOST = 64 };

struct deposit_port {
    /* ERR_LIMIT: no room on the disk or in memory; try again later. */
    bool (*open)(void *arg, struct str name, struct str ctype, struct deposit **ret,
                 struct err *err);
    bool (*put)(struct deposit *d, struct str bytes, struct err *err);
    bool (*commit)(struct deposit *d, struct str key, struct id *ret_id, bool *ret_repeated,
                   struct err *err); /* ends the deposit */
    /* The same for several: each has its own answer, whatever became of the others. */
    void (*commit_all)(struct deposit_commit *list, size_t count); /* ends the deposits */
    void (*abandon)(struct deposit *d); /* ends the deposit; nothing is stored */

    /* The ledger of `after: keep`: sources that were taken and still exist. */
    bool (*seen)(void *arg, struct str key, bool *ret, struct err *err);
    bool (*note_seen)(void *arg, struct str key, struct err *err);
    /* The node is stopping: the poll should end soon.  Also a sign of life. */
    bool (*stopping)(void *arg);
    /* Keeps the turn of this node; for whatever takes long without a deposit, such as a listing.
     * False: the turn is lost, end the poll. */
    bool (*alive)(void *arg, struct err *err);
    int64_t (*size_most)(void *arg); /* limits.size of the gateway */
    /* The poll as a call that may be given up, for connections: where it may connect to, signs of
     * life.  NULL: this port has none. */
    struct call *(*call)(void *arg);
    /* Reports a file that is refused, or a folder that is too full, once; `hint` says what to do
     * about it. */
    void (*complain)(void *arg, struct str name, const char *why, const char *hint);
};
