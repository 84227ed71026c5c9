/* probing.h - what a probe of a gateway or endpoint has found, step by step.
 *
 * A probe shows where the way to the other side ends: its name, the connection, TLS, the login, the
 * folder, the rights, the clock.  Each step is a line for people: passed, failed with the reason
 * and the remedy, or left out with the reason for that.  After a failure the steps that need it are
 * not tried and have no line.
 *
 *     probing_begin(p, "login");                       the step that hangs is known by this
 *     if (!log_in(...))
 *         return probing_fail(p, "login", "check `user` and `password`", "%s refused it", host);
 *     probing_pass(p, "login", "as %s", user);
 *
 * A probe sends no document, takes none, and leaves nothing behind.  To find out whether it may
 * write somewhere, it writes a file whose name begins with PROBING_FILE and removes it again; where
 * something could stay all the same, the step is left out.  It shows no secret.
 *
 * Threads: any; the one that waits may read while another reports.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PROBING_FILE ".waybill-probe-"

enum {
    PROBING_LINES = 16,
    PROBING_TEXT = 500,
    PROBING_NAME = 48, /* room for PROBING_FILE, a number and its end */
};

enum probing_result { PROBING_PASSED, PROBING_FAILED, PROBING_LEFT_OUT };

struct probing_line {
    const char *step; /* static */
    enum probing_result result;
    char text[PROBING_TEXT];   /* what was found, or why it was left out */
    char remedy[PROBING_TEXT]; /* of a failure; else empty */
};

struct probing {
    int64_t until_us; /* it should have ended by then; monotonic */
    pthread_mutex_t mutex;
    const char *at; /* the step under way; NULL: none */
    struct probing_line lines[PROBING_LINES];
    size_t count;
    bool failed;
};

void probing_init(struct probing *p, int64_t until_us);
void probing_done(struct probing *p);

void probing_begin(struct probing *p, const char *step);
/* Always true. */
bool probing_pass(struct probing *p, const char *step, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Always false. */
bool probing_fail(struct probing *p, const char *step, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void probing_leave(struct probing *p, const char *step, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* What is left of its time, at most `most_us` and at least a moment. */
int64_t probing_time(const struct probing *p, int64_t most_us);

/* A name for a file that is removed again; another one at each call. */
const char *probing_name(const char *end, char to[static PROBING_NAME]);

/* A copy of the lines so far; `ret` has room for PROBING_LINES.  *ret_at: the step under way. */
size_t probing_read(struct probing *p, struct probing_line *ret, const char **ret_at);
