/* deposit.h - how a gateway that polls hands in a document.
 *
 * On a thread that may block: open(), put() the bytes piece by piece, commit().  When commit()
 * returned true the document is on stable storage, and only then may the source be removed.  `key`
 * identifies the source for ever (G9): a second deposit of the same key returns the id of the
 * first document and sets *ret_repeated.
 *
 * Each commit() costs two syncs of the disk.  For many small sources keep several deposits open and
 * end them with one commit_all(): they share a group commit, and are accepted in their order.
 *
 * A gateway that reads from where it stood keeps that place, a cursor, as its state: one text of at
 * most DEPOSIT_STATE_MOST bytes.  state() reads it at the start of a poll; commit_state() replaces
 * it in the very transaction that stores the documents, all or nothing.  When it fails, also
 * because another node has taken over and moved the cursor, the poll ends: the next one reads the
 * state again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
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

/* What is committed with a new state. */
struct deposit_state {
    struct str state;
    struct deposit_commit *list; /* documents; one without a key is always a new one */
    size_t count;                /* up to DEPOSIT_COMMIT_MOST; may be 0 */
    /* Sources that known() will know from now on, and the time that forget() compares. */
    const struct sha256 *notes;
    size_t note_count; /* up to DEPOSIT_NOTES_MOST */
    int64_t noted_us;
};

enum { DEPOSIT_STATE_MOST = 16 << 10, DEPOSIT_NOTES_MOST = 10000 };

struct deposit_port {
    /* ERR_LIMIT: no room on the disk or in memory; try again later. */
    bool (*open)(void *arg, struct str name, struct str ctype, struct deposit **ret,
                 struct err *err);
    bool (*put)(struct deposit *d, struct str bytes, struct err *err);
    /* The document is a dead letter from the beginning, `extract_failed`, with this reason: what
     * the gateway has found and cannot hand in.  Its bytes say what is known of it. */
    void (*fail)(struct deposit *d, struct str why);
    bool (*commit)(struct deposit *d, struct str key, struct id *ret_id, bool *ret_repeated,
                   struct err *err); /* ends the deposit */
    /* The same for several: each has its own answer, whatever became of the others. */
    void (*commit_all)(struct deposit_commit *list, size_t count); /* ends the deposits */
    void (*abandon)(struct deposit *d); /* ends the deposit; nothing is stored */

    /* Appends the state as the last commit_state() left it; nothing: there was none. */
    bool (*state)(void *arg, struct buf *to, struct err *err);
    /* Ends the deposits.  state() was called before in this poll. */
    bool (*commit_state)(void *arg, struct deposit_state *s, struct err *err);
    /* Which of these were notes of a commit_state(); forget() removes those noted before a time. */
    bool (*known)(void *arg, const struct sha256 *keys, size_t count, bool *ret, struct err *err);
    bool (*forget)(void *arg, int64_t before_us, struct err *err);

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
