/* line.h - open connections of endpoints and polls, kept from one call to the next.
 *
 * A connection costs a handshake and a login; a server may count them.  So they belong to the
 * engine (engine/threads/lines.h), not to a connector, which is made anew with every version of the
 * configuration: a line is found by a digest of the settings that opened it.  A version that
 * changes other things keeps the lines, and one that changes a password closes them.
 *
 *     if (!line_take(c, &type, self, &line, &kept, err)) ...
 *     ... use it ...
 *     line_give(c, &type, self, line, usable);
 *
 * A line that was kept is looked at before it is used: if the other side has closed it, another one
 * is opened, and nothing was sent.
 *
 * Threads: a line is used by the call that took it alone.
 */
#pragma once

#include <stdbool.h>

#include "base/digest.h"
#include "base/err.h"

struct call;

/* How lines of one kind are opened, looked at and closed. */
struct line_type {
    /* Of the connector's settings that a line is opened with: server, login, secrets. */
    const struct sha256 *(*key)(const void *self);
    bool (*open)(void *self, struct call *c, void **ret_line, struct err *err); /* waits */
    /* One look, without waiting: the other side has neither closed it nor sent anything. */
    bool (*is_open)(void *line);
    void (*close)(void *line); /* waits for nothing */
};

/* Where lines are kept. */
struct line_port {
    /* A kept line, or NULL. */
    void *(*take)(struct line_port *p, const struct line_type *type, const struct sha256 *key);
    /* Keeps it, or closes it. */
    void (*give)(struct line_port *p, const struct line_type *type, const struct sha256 *key,
                 void *line);
};

/* c or its port may be NULL: then each line is opened anew and closed at the end. */
bool line_take(struct call *c, const struct line_type *type, void *self, void **ret_line,
               bool *ret_kept, struct err *err);
/* usable: it is in the state in which the next call expects it. */
void line_give(struct call *c, const struct line_type *type, const void *self, void *line,
               bool usable);
