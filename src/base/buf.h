/* buf.h - bytes that grow, up to a cap.
 *
 * Every buf has a cap, given when it is made: sizes that come from outside
 * must meet a limit we chose.  Reaching it is an ordinary error (ERR_LIMIT);
 * running out of memory below it ends the process.
 *
 * Invariants
 *   (1) ptr is never NULL and ptr[len] is always '\0'.
 *   (2) len <= cap.
 *   (3) a failed append leaves the content as it was.
 *
 * Ownership: the buf owns its bytes.  buf_view() lends them until the next
 * append.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct buf {
    char *ptr;
    size_t len, size, cap;
};

extern char buf_empty[1];

#define BUF_INIT(cap_)                  \
    {                                   \
        .ptr = buf_empty, .cap = (cap_) \
    }

void buf_done(struct buf *b);            /* safe on a zeroed buf, and twice */
void buf_clear(struct buf *b);           /* empty, keeps its memory         */
void buf_cut(struct buf *b, size_t len); /* keeps its first bytes */

bool buf_append(struct buf *b, struct str bytes, struct err *err)
    __attribute__((warn_unused_result));

/* For output of our own making, whose size we bound elsewhere: over the cap the
 * process ends instead of failing. */
void buf_put(struct buf *b, struct str bytes);
void buf_puts(struct buf *b, const char *z);
void buf_putc(struct buf *b, char c);
void buf_put_int(struct buf *b, int64_t v); /* decimal */
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Room for `more` bytes at ptr + len and the terminator behind them.  The caller
 * writes there and then says with buf_added() how many bytes it wrote. */
bool buf_reserve(struct buf *b, size_t more, struct err *err) __attribute__((warn_unused_result));
void buf_added(struct buf *b, size_t n);

struct str buf_view(const struct buf *b);
