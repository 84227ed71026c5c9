/* deposit.h - how a gateway that looks for documents hands one in.
 *
 * On a thread that may block: open, put the bytes piece by piece, close with commit; when
 * that returned true the document is on stable storage, and only then may the source be
 * removed.  `key` names the source for ever (G9): a second deposit of the same key gives the
 * first document again, with *ret_repeated set.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"

struct deposit;

/* One look takes at most so many; one that took as many is repeated at once. */
enum { DEPOSIT_LOOK_MOST = 500 };

/* So long may a gateway remember what seen() said of a source that still lies there; then it asks
 * again, because the ledger forgets what nobody asks for. */
#define DEPOSIT_KNOWN_US (INT64_C(3600) * 1000000)

struct deposit_port {
    /* ERR_LIMIT: no room (disk, memory); try again later. */
    bool (*open)(void *arg, struct str name, struct str ctype, struct deposit **ret,
                 struct err *err);
    bool (*put)(struct deposit *d, struct str bytes, struct err *err);
    bool (*commit)(struct deposit *d, struct str key, struct id *ret_id, bool *ret_repeated,
                   struct err *err);    /* ends it */
    void (*abandon)(struct deposit *d); /* ends it; nothing is stored */

    /* The ledger of `after: keep`: what was taken and still lies there. */
    bool (*seen)(void *arg, struct str key, bool *ret, struct err *err);
    bool (*note_seen)(void *arg, struct str key, struct err *err);
    /* The node is stopping: end soon. */
    bool (*stopping)(void *arg);
    int64_t (*size_most)(void *arg); /* limits.size of the gateway */
    /* A file that was refused, or a folder that is too full: to be told once, with what to do
     * about it. */
    void (*complain)(void *arg, struct str name, const char *why, const char *hint);
};
