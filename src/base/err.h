/* err.h - what went wrong, and what the caller should do about it.
 *
 * A function that can fail returns bool and takes a `struct err *` as its last
 * argument.  True means done and *err untouched; false means nothing was done
 * that the caller must undo, and *err is filled in exactly once, at the place
 * of failure.  Callers pass it up, adding context with err_context(); only the
 * layer that decides what happens next logs it.
 *
 * Threads: a struct err lives on one stack; it is never shared.
 */
#pragma once

#include <stdbool.h>

/* The kinds differ only in what the engine does next; add one only if the
 * engine would act differently on it. */
enum err_kind {
    ERR_NONE = 0,
    ERR_TRANSIENT, /* not now: retry by the task's schedule         */
    ERR_PERMANENT, /* never: dead-letter it, a person must decide   */
    ERR_UNCERTAIN, /* may have happened: retry only if idempotent   */
    ERR_LIMIT,     /* a cap of ours was reached: refuse, say which  */
    ERR_CONFIG,    /* the configuration is wrong: do not start      */
};

struct err {
    enum err_kind kind;
    int sys;           /* errno, CURLcode, SQLSTATE class... 0 if none */
    const char *where; /* "file.c:123", static storage                 */
    char text[200];    /* one line, lower case, no full stop           */
};

#define ERR_WHERE_(file, line) file ":" #line
#define ERR_WHERE(file, line)  ERR_WHERE_(file, line)

/* Fill *err and return false, so that failing is one statement:
 *     return err_set(err, ERR_LIMIT, 0, "payload over %zu bytes", cap);     */
#define err_set(err, kind, sys, ...) \
    err_set_at((err), (kind), (sys), ERR_WHERE(__FILE__, __LINE__), __VA_ARGS__)

bool err_set_at(struct err *err, enum err_kind kind, int sys, const char *where, const char *fmt,
                ...) __attribute__((format(printf, 5, 6)));

/* Prefix the text ("opening spool: permission denied"); always returns false.  The
 * prefix takes at most half of the room, so that the cause is never pushed out. */
bool err_context(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for a failure after a change that cannot be undone: the prefix says what was done and
 * what to check, and the kind becomes ERR_UNCERTAIN, because a repetition would make the change
 * twice. */
bool err_behind(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
