#include "core/mllp/mllp.h"

#include <string.h>

#include "base/require.h"

static bool mllp_is_blank(char c)
{
    return c == '\r' || c == '\n' || c == ' ' || c == '\t';
}

static enum mllp_event mllp_between(struct mllp_reader *r, struct str *rest)
{
    size_t at = 0;

    while (at < rest->len && mllp_is_blank(rest->ptr[at]))
        at++;
    *rest = str_from(*rest, at);
    if (rest->len == 0)
        return MLLP_MORE;
    if (rest->ptr[0] != MLLP_BEGIN_BYTE)
        return MLLP_STRAY;
    *rest = str_from(*rest, 1);
    r->phase = MLLP_INSIDE;
    return MLLP_BEGIN;
}

/* Behind an FS.  A second FS may be the one that counts. */
static enum mllp_event mllp_behind_end(struct mllp_reader *r, struct str *rest,
                                       struct str *ret_bytes)
{
    static const char held[] = { MLLP_END_BYTE };

    if (rest->len == 0)
        return MLLP_MORE;
    char c = rest->ptr[0];

    if (c == '\r' || c == '\n' || c == MLLP_BEGIN_BYTE) {
        if (c != MLLP_BEGIN_BYTE)
            *rest = str_from(*rest, 1);
        r->phase = MLLP_OUTSIDE;
        return MLLP_END;
    }
    if (c == MLLP_END_BYTE)
        *rest = str_from(*rest, 1);
    else
        r->phase = MLLP_INSIDE;
    *ret_bytes = str_mem(held, 1);
    return MLLP_BYTES;
}

/* Up to the next FS, which is looked at alone. */
static enum mllp_event mllp_within(struct mllp_reader *r, struct str *rest, struct str *ret_bytes)
{
    const char *end = rest->len > 0 ? memchr(rest->ptr, MLLP_END_BYTE, rest->len) : NULL;
    size_t len = end != NULL ? (size_t)(end - rest->ptr) : rest->len;

    if (len > 0) {
        *ret_bytes = str_mem(rest->ptr, len);
        *rest = str_from(*rest, len);
        return MLLP_BYTES;
    }
    if (end == NULL)
        return MLLP_MORE;
    *rest = str_from(*rest, 1);
    r->phase = MLLP_CLOSING;
    return mllp_behind_end(r, rest, ret_bytes);
}

enum mllp_event mllp_next(struct mllp_reader *r, struct str *rest, struct str *ret_bytes)
{
    switch (r->phase) {
    case MLLP_OUTSIDE:
        return mllp_between(r, rest);
    case MLLP_INSIDE:
        return mllp_within(r, rest, ret_bytes);
    case MLLP_CLOSING:
        return mllp_behind_end(r, rest, ret_bytes);
    }
    unreachable("a phase of the reader");
}

void mllp_end_now(struct mllp_reader *r)
{
    require(r->phase == MLLP_CLOSING);
    r->phase = MLLP_OUTSIDE;
}

bool mllp_has_border(struct str bytes)
{
    return bytes.len > 0 && (memchr(bytes.ptr, MLLP_BEGIN_BYTE, bytes.len) != NULL ||
                             memchr(bytes.ptr, MLLP_END_BYTE, bytes.len) != NULL);
}

void mllp_put(struct buf *to, struct str message)
{
    buf_putc(to, MLLP_BEGIN_BYTE);
    buf_put(to, message);
    buf_putc(to, MLLP_END_BYTE);
    buf_putc(to, '\r');
}
