/* audit.h - who did what: lines that nobody can change unnoticed.
 *
 * A line names who (actor, kind, address), what (action, object, before and after, reason) and
 * when. Its number, seq, has no gap; its hash is the SHA-256 of the line and of the hash of the
 * line before, so that a line that is changed, removed or moved breaks the chain at its number. Who
 * can write the whole table can make a new chain: compare its head with one that was noted
 * elsewhere (audit_verify()).
 *
 * A change and its line are one transaction.  Whoever acts for somebody says so with audit_begin();
 * from then on the changes that this thread asks the writer for carry it: a verb that knows what it
 * did notes a line for each object (audit_note()), for any other there is one line as it was begun,
 * unless it says that it changed nothing (store_op.nothing).
 * The lines of a group are written at its end.  On PostgreSQL they take the row of the mark first,
 * so that writers chain one after the other, each until its commit.
 *
 *     audit_begin(&entry);
 *     secret_put(...);
 *     audit_end();
 *
 * What changes nothing here (a look into a payload, a login) is audit_append(): a commit of its
 * own, before anything is shown.
 *
 * Threads: audit_begin() is of the calling thread; audit_note() and audit_write() on a writer's.
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

/* Longer texts are cut; controls become blanks, and what is no UTF-8 question marks. */
enum { AUDIT_NAME_MOST = 300, AUDIT_TEXT_MOST = 4000, AUDIT_PAGE_MOST = 200 };

struct audit_entry {
    struct str actor;   /* "alice" */
    struct str kind;    /* token, user, key, caller, node */
    struct str address; /* where from */
    struct str action;  /* "holdAdd" */
    struct str object;  /* its name or id, as people know it */
    struct str was, became;
    struct str reason;
};

struct audit_line {
    int64_t seq, time_us;
    struct audit_entry entry;
    struct sha256 prev, hash;
};

/* ---- writing ---- */

/* A line of its own, and wait for its commit. */
bool audit_append(struct store *s, const struct audit_entry *e, struct err *err);

/* What this thread asks for is done by them; the entry is lent until audit_end() or the next
 * begin. */
void audit_begin(const struct audit_entry *e);
void audit_end(void);

/* For who submits an operation: what it carries, NULL for nothing; and after its commit. */
struct audit_scope *audit_scope(void);
void audit_carried(const struct store_op *op);

/* For run() of a verb that `notes`: what the change did to an object; without a scope it does
 * nothing.  An empty object or became is as it was begun. */
void audit_note(struct writer *w, struct store_op *op, struct str object, struct str was,
                struct str became);
/* The same; it became {"result": RESULT, "asked": what was begun}. */
void audit_note_result(struct writer *w, struct store_op *op, struct str object, struct str was,
                       struct str result);
/* The line of a verb that does not note; once for each audit_begin(). */
void audit_note_begun(struct writer *w, struct store_op *op);

/* The writer's, at the end of a group. */
bool audit_write(struct writer *w, struct err *err);

/* ---- looking ---- */

struct audit_filter {
    struct str actor, action, object; /* empty: any */
    int64_t since_us, until_us;       /* from, and before; 0: open */
};

/* Where a page goes on; zeroed: from the newest, and at the end. */
struct audit_place {
    int64_t time_us, seq;
};

/* By time, the newest first; `ret` has room for `first`, AUDIT_PAGE_MOST at most. */
bool audit_list(struct store *s, const struct audit_filter *f, size_t first, struct arena *a,
                struct audit_line *ret, size_t *ret_count, struct audit_place *io_place,
                struct err *err);

/* ---- the chain ---- */

/* Let go of a slice of the oldest lines: of those before this time, if there is one that is older
 * by slack_us.  The last line stays.  A line "auditTrim" says which was the last to go, and its
 * hash: the chain begins behind it. */
bool audit_trim(struct store *s, int64_t before_us, int64_t slack_us, int64_t *ret_gone,
                struct err *err);

struct audit_check {
    int64_t lines;      /* that were looked at */
    int64_t seq;        /* the last of them */
    struct sha256 hash; /* its own */
    int64_t bad;        /* at which number the chain breaks; 0: it does not */
    char message[200];  /* how */
};

/* Follows the whole chain.  noted_seq, noted_hash: a head that was noted before, 0 and NULL for
 * none: the line must have that hash still.  Lines that come in meanwhile are followed too. */
bool audit_verify(struct store *s, int64_t noted_seq, const struct sha256 *noted_hash,
                  struct audit_check *ret, struct err *err);
