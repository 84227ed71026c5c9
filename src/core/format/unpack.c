#include "core/format/unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/alloc.h"
#include "base/require.h"

/* ---- the input ---- */

bool packed_fill(struct packed *p, size_t least)
{
    require(least <= sizeof p->head);
    while (p->rest.len < least && !p->ended) {
        if (p->rest.len > 0) /* it is lent: keep it */
            memmove(p->head, p->rest.ptr, p->rest.len);
        if (p->after.len == 0) {
            if (!p->io->next(p->io, &p->after, p->failure))
                return false;
            p->ended = p->after.len == 0;
        }
        if (p->rest.len == 0) {
            p->rest = p->after;
            p->after = (struct str){ 0 };
            continue;
        }
        size_t missing = least - p->rest.len;
        size_t n = missing < p->after.len ? missing : p->after.len;

        if (n > 0)
            memcpy(p->head + p->rest.len, p->after.ptr, n);
        p->after = str_from(p->after, n);
        p->rest = str_mem(p->head, p->rest.len + n);
    }
    if (p->rest.len == 0 && p->after.len > 0) {
        p->rest = p->after;
        p->after = (struct str){ 0 };
    }
    return true;
}

void packed_skip(struct packed *p, size_t count)
{
    require(count <= p->rest.len);
    p->rest = str_from(p->rest, count);
    p->at += (int64_t)count;
}

bool packed_take(struct packed *p, size_t count, struct buf *to, const char *what)
{
    struct err err;

    while (count > 0) {
        if (!packed_fill(p, 1))
            return false;
        size_t n = count < p->rest.len ? count : p->rest.len;

        if (n == 0)
            return service_fail(p->failure, DEAD_SERVICE_FAILED,
                                "%s: it ends within %s, at byte %lld", p->who, what,
                                (long long)p->at + 1);
        if (!buf_append(to, str_mem(p->rest.ptr, n), &err))
            return service_fail(p->failure, DEAD_LIMIT,
                                "%s: %s is larger than %zu bytes, at byte %lld", p->who, what,
                                to->cap, (long long)p->at + 1);
        packed_skip(p, n);
        count -= n;
    }
    return true;
}

bool packed_count(struct packed *p, size_t more, int64_t most)
{
    int64_t in = p->io->size >= 0 ? p->io->size : p->at;
    int64_t ratio = in > PACKED_FREE / PACKED_RATIO ? PACKED_RATIO * in : PACKED_FREE;

    p->out += (int64_t)more;
    if (p->out > most)
        return service_fail(p->failure, DEAD_LIMIT,
                            "%s: what comes out is larger than %lld bytes; `most` allows more",
                            p->who, (long long)most);
    if (p->out > ratio)
        return service_fail(p->failure, DEAD_LIMIT,
                            "%s: %lld bytes unpack to more than %d times as many, which "
                            "is taken for an attack",
                            p->who, (long long)in, PACKED_RATIO);
    return true;
}

bool packed_bad(struct packed *p, const char *what)
{
    char hex[3 * 4 + 1] = "";

    if (!packed_fill(p, 4))
        return false;
    for (size_t i = 0; i < 4 && i < p->rest.len; i++)
        (void)snprintf(hex + 3 * i, 4, " %02x", (unsigned)(unsigned char)p->rest.ptr[i]);
    return service_fail(p->failure, DEAD_SERVICE_FAILED, "%s: %s, at byte %lld%s%s", p->who, what,
                        (long long)p->at + 1, hex[0] != '\0' ? ":" : "", hex);
}

/* ---- decoders ---- */

enum { ROOM = 64 << 10, WINDOW_LOG = 23 /* 8 MiB, what RFC 8878 asks of every decoder */ };

struct unpack {
    enum unpack_format format;
    z_stream z;
    ZSTD_DStream *zstd;
    int64_t from; /* where the stream begins; -1: it has not yet */
    bool full;    /* the last step filled the room: there may be more without more input */
    /* A mistake behind bytes that came out: those are given first, so that what is counted before a
     * failure does not depend on the size of the pieces. */
    struct service_failure late;
    bool is_late;
    char room[ROOM];
};

static const char *const names[UNPACK_FORMATS] = { "gzip", "zstd", "deflate", "deflate" };

struct unpack *unpack_new(enum unpack_format format)
{
    static const int bits[UNPACK_FORMATS] = {
        [UNPACK_GZIP] = 15 + 16, [UNPACK_ZLIB] = 15, [UNPACK_RAW] = -15
    };
    struct unpack *u = xmalloc(sizeof *u);

    u->format = format;
    u->full = u->is_late = false;
    u->from = -1;
    u->zstd = NULL;
    u->z = (z_stream){ 0 };
    if (format == UNPACK_ZSTD) {
        u->zstd = ZSTD_createDStream();
        require(u->zstd != NULL);
        (void)ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, WINDOW_LOG);
    } else {
        int rc = inflateInit2(&u->z, bits[format]);

        require(rc == Z_OK);
    }
    return u;
}

void unpack_free(struct unpack *u)
{
    if (u == NULL)
        return;
    if (u->format == UNPACK_ZSTD)
        (void)ZSTD_freeDStream(u->zstd);
    else
        (void)inflateEnd(&u->z);
    free(u);
}

void unpack_reset(struct unpack *u)
{
    u->from = -1;
    u->full = u->is_late = false;
    if (u->format == UNPACK_ZSTD)
        (void)ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_only);
    else
        (void)inflateReset(&u->z);
}

static bool unpack_fail(struct unpack *u, struct packed *p, const char *why)
{
    return service_fail(&u->late, DEAD_SERVICE_FAILED, "%s: not valid as %s: %s, at byte %lld",
                        p->who, names[u->format], why, (long long)p->at + 1);
}

/* zstd does not say where in its input a mistake stands. */
static bool fail_zstd(struct unpack *u, const struct packed *p, enum dead_code code,
                      const char *why)
{
    return service_fail(&u->late, code, "%s: not valid as zstd: %s, in the frame at byte %lld",
                        p->who, why, (long long)u->from + 1);
}

static bool step_zstd(struct unpack *u, struct packed *p, struct str *ret, bool *ret_end)
{
    ZSTD_inBuffer in = { p->rest.ptr, p->rest.len, 0 };
    ZSTD_outBuffer out = { u->room, ROOM, 0 };
    size_t rc = ZSTD_decompressStream(u->zstd, &out, &in);

    *ret = str_mem(u->room, out.pos);
    *ret_end = false;
    if (ZSTD_isError(rc)) {
        if (ZSTD_getErrorCode(rc) == ZSTD_error_frameParameter_windowTooLarge)
            return fail_zstd(u, p, DEAD_LIMIT,
                             "it needs a window of more than 8 MiB (--long or --ultra)");
        return fail_zstd(u, p, DEAD_SERVICE_FAILED, ZSTD_getErrorName(rc));
    }
    packed_skip(p, in.pos);
    *ret_end = rc == 0;
    return true;
}

static bool step_zlib(struct unpack *u, struct packed *p, struct str *ret, bool *ret_end)
{
    size_t most = p->rest.len < UINT32_MAX ? p->rest.len : UINT32_MAX;

    u->z.next_in = (unsigned char *)(uintptr_t)p->rest.ptr; /* zlib does not write there */
    u->z.avail_in = (unsigned)most;
    u->z.next_out = (unsigned char *)u->room;
    u->z.avail_out = ROOM;
    int rc = inflate(&u->z, Z_NO_FLUSH);

    packed_skip(p, most - u->z.avail_in);
    *ret = str_mem(u->room, ROOM - u->z.avail_out);
    *ret_end = rc == Z_STREAM_END;
    if (rc == Z_NEED_DICT)
        return unpack_fail(u, p, "it needs a dictionary");
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return unpack_fail(u, p, u->z.msg != NULL ? u->z.msg : "it is damaged");
    return true;
}

bool unpack_step(struct unpack *u, struct packed *p, struct str *ret, bool *ret_end)
{
    *ret = (struct str){ 0 };
    *ret_end = false;
    if (!u->full && !u->is_late && !packed_fill(p, 1))
        return false;
    if (u->from < 0)
        u->from = p->at;
    bool ok = false;

    if (!u->is_late && !u->full && p->rest.len == 0)
        (void)unpack_fail(u, p, "it ends too early");
    else if (!u->is_late)
        ok = u->format == UNPACK_ZSTD ? step_zstd(u, p, ret, ret_end)
                                      : step_zlib(u, p, ret, ret_end);
    u->full = ok && !*ret_end && ret->len == ROOM;
    u->is_late = !ok && ret->len > 0;
    if (!ok && !u->is_late)
        *p->failure = u->late;
    return ok || u->is_late;
}
