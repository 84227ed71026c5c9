/* audit.h - the audit log: who did what, in lines that cannot be changed unnoticed.
 *
 * A line names who (actor, kind, address), what (action, object, before and after, reason) and
 * when.  Line numbers (seq) have no gap.  The hash of a line is the SHA-256 of the line and of the
 * hash of the line before, so a line that is changed, removed or moved breaks the chain at its
 * number.  Somebody who can write the whole table can make a new chain: compare its head with one
 * that was noted elsewhere (audit_verify()).
 *
 * A change and its line are one transaction.  A thread that acts for somebody calls audit_begin();
 * from then on its writers_call()s carry the entry.  A verb that knows what it did adds a line for
 * each object (audit_note()); for any other verb the entry becomes one line, unless nothing was
 * changed (store_op.nothing).
 * The lines of a group are written at its end.  On PostgreSQL this locks the row of the mark
 * `audit` until the commit, so that two writers cannot append to the same head.
 *
 *     audit_begin(&entry);
 *     secret_put(...);
 *     audit_end();
 *
 * An action that changes nothing in the store (reading a payload, a login) uses audit_append(): a
 * commit of its own, before anything is shown.
 *
 * Threads: audit_begin() holds for the calling thread; audit_note() and audit_write() run on a
 * writer thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct store;
struct store_op;
struct writer;

/* Longer texts are cut; control characters become blanks; in a text that is not UTF-8 all bytes
 * above ASCII become question marks. */
enum {
    AUDIT_NAME_MOST = 300,
    AUDIT_TEXT_MOST = 4000,
    AUDIT_PAGE_MOST = 200,
    AUDIT_APPEND_MOST = 500
};

struct audit_entry {
    struct str actor;   /* "alice" */
    struct str kind;    /* token, user, key, caller, node */
    struct str address; /* where the request came from */
    struct str action;  /* "holdAdd" */
    struct str object;  /* its name or id, as shown to people */
    struct str was, became;
    struct str reason;
};

struct audit_line {
    int64_t seq, time_us;
    struct audit_entry entry;
    struct sha256 prev, hash;
};

/* ---- writing ---- */

/* Adds a line without a change and waits for its commit. */
bool audit_append(struct store *s, const struct audit_entry *e, struct err *err);
/* The same with at most AUDIT_APPEND_MOST lines, in one commit. */
bool audit_append_all(struct store *s, const struct audit_entry *entries, size_t count,
                      struct err *err);

/* Changes that this thread asks for are audited under the entry, which is lent until audit_end() or
 * the next audit_begin(). */
void audit_begin(const struct audit_entry *e);
void audit_end(void);

/* For writers_call(): the scope of the calling thread, NULL for none; and after the commit. */
struct audit_scope *audit_scope(void);
void audit_carried(const struct store_op *op);

/* For run() of a verb with `notes`: adds a line for an object; does nothing without a scope.  An
 * empty object, was or became is taken from the entry of audit_begin(). */
void audit_note(struct writer *w, struct store_op *op, struct str object, struct str was,
                struct str became);
/* The same with became = {"result": RESULT, "asked": the became of audit_begin()}. */
void audit_note_result(struct writer *w, struct store_op *op, struct str object, struct str was,
                       struct str result);
/* The line of a verb without `notes`; none if a line of this audit_begin() is committed. */
void audit_note_begun(struct writer *w, struct store_op *op);

/* For the writer, at the end of a group. */
bool audit_write(struct writer *w, struct err *err);

/* ---- reading ---- */

struct audit_filter {
    struct str actor, action, object; /* empty: any */
    int64_t since_us, until_us;       /* inclusive, exclusive; 0: open */
};

/* Where the next page begins; zeroed: from the newest line, or no more pages. */
struct audit_place {
    int64_t time_us, seq;
};

/* By time, newest first; `ret` has room for `first` lines, AUDIT_PAGE_MOST at most. */
bool audit_list(struct store *s, const struct audit_filter *f, size_t first, struct arena *a,
                struct audit_line *ret, size_t *ret_count, struct audit_place *io_place,
                struct err *err);

/* ---- the chain ---- */

/* Deletes a slice of the lines before before_us, once the oldest is older than that by slack_us.
 * The newest line stays.  A line "auditTrim" has number and hash of the last deleted line, so that
 * the chain can be verified from there. */
bool audit_trim(struct store *s, int64_t before_us, int64_t slack_us, int64_t *ret_gone,
                struct err *err);

struct audit_check {
    int64_t lines;      /* that were checked */
    int64_t seq;        /* the last of them */
    struct sha256 hash; /* of line `seq` */
    int64_t bad;        /* the number at which the chain breaks; 0: it is whole */
    char message[200];  /* how */
};

/* Checks the whole chain, with lines that are added meanwhile.  noted_seq, noted_hash: a head that
 * was noted before (0, NULL: none); that line must still have this hash. */
bool audit_verify(struct store *s, int64_t noted_seq, const struct sha256 *noted_hash,
                  struct audit_check *ret, struct err *err);
