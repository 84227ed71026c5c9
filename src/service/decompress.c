/* decompress.c - unpacks a document, piece by piece.
 *
 *     - decompress:
 *     - decompress: { format: zstd, most: 2 GiB }
 *
 * `auto` goes by the first bytes.  Several gzip members or zstd frames, one behind the other, are
 * one stream, as for gzip and zstd.  `deflate` is what HTTP calls so: zlib's format, or, if it is
 * named and not `auto`, the same without its frame.  A zip archive has exactly one file; one of
 * several is for `split: { zip: entries }`.  What ends too early, is damaged or goes on behind its
 * end is a failure with its place; how much may come out: unpack.h.
 */
#include "base/auto.h"
#include "core/connector.h"
#include "core/format/zip_read.h"

enum packing { PACKING_AUTO, PACKING_GZIP, PACKING_ZSTD, PACKING_DEFLATE, PACKING_ZIP };

static const char *const packings[] = { "auto", "gzip", "zstd", "deflate", "zip", NULL };

struct decompress {
    enum packing packing;
    int64_t most;
};

static const struct option options[] = {
    OPTION("format", OPT_WORD, "how it was compressed", .words = packings, .fallback = "auto"),
    OPTION("most", OPT_SIZE,
           "the largest result; it is also at most 100 times as large as the document, or 1 MiB",
           .least = 1, .fallback = "64 MiB"),
    { 0 },
};

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct decompress *d = ARENA_NEW(s->arena, struct decompress);
    struct str format;

    if (!settings_text(s, "format", &format, err) || !settings_int(s, "most", &d->most, err))
        return false;
    while (packings[d->packing] != NULL && !str_is(format, packings[d->packing]))
        d->packing++;
    if (packings[d->packing] == NULL)
        return err_set(err, ERR_CONFIG, 0, "`format`: `%.*s` is not known", STR_ARG(format));
    *ret_self = d;
    return true;
}

static void unmake(void *self)
{
    (void)self;
}

/* ---- what it is ---- */

static bool is_gzip(struct str s)
{
    return str_starts(s, STR("\x1f\x8b"));
}

/* A frame, or one that decoders skip. */
static bool is_zstd(struct str s)
{
    return str_starts(s, STR("\x28\xb5\x2f\xfd")) ||
           (s.len >= 4 && ((unsigned char)s.ptr[0] & 0xf0) == 0x50 &&
            memcmp(s.ptr + 1, "\x2a\x4d\x18", 3) == 0);
}

/* The header of RFC 1950: deflate, a window of at most 32 KiB, and a check of both bytes. */
static bool is_zlib(struct str s)
{
    if (s.len < 2)
        return false;
    unsigned a = (unsigned char)s.ptr[0], b = (unsigned char)s.ptr[1];

    return (a & 0x0f) == 8 && a >> 4 <= 7 && (a << 8 | b) % 31 == 0;
}

static bool is_zip(struct str s)
{
    return str_starts(s, STR("PK\x03\x04")) || str_starts(s, STR("PK\x05\x06"));
}

static enum packing packing_of(struct str start)
{
    return is_gzip(start)   ? PACKING_GZIP
           : is_zstd(start) ? PACKING_ZSTD
           : is_zip(start)  ? PACKING_ZIP
           : is_zlib(start) ? PACKING_DEFLATE
                            : PACKING_AUTO;
}

/* ---- running ---- */

/* Behind the end of a stream: *ret_more when another one of its kind begins there. */
static bool look_behind(struct packed *p, enum packing packing, bool *ret_more)
{
    if (!packed_fill(p, 4))
        return false;
    *ret_more = (packing == PACKING_GZIP && is_gzip(p->rest)) ||
                (packing == PACKING_ZSTD && is_zstd(p->rest));
    return *ret_more || p->rest.len == 0 ||
           packed_bad(p, "something stands behind the end of the compressed bytes");
}

static bool unpack_all(struct packed *p, enum packing packing, int64_t most)
{
    enum unpack_format format = packing == PACKING_GZIP   ? UNPACK_GZIP
                                : packing == PACKING_ZSTD ? UNPACK_ZSTD
                                : is_zlib(p->rest)        ? UNPACK_ZLIB
                                                          : UNPACK_RAW;
    struct unpack *u = unpack_new(format);
    bool ok = true, more = true, end = false;
    struct str bytes;

    while (ok && more) {
        ok = unpack_step(u, p, &bytes, &end) && packed_count(p, bytes.len, most) &&
             (bytes.len == 0 || p->io->put(p->io, bytes, p->failure));
        if (!ok || !end)
            continue;
        ok = look_behind(p, packing, &more);
        unpack_reset(u);
    }
    unpack_free(u);
    return ok;
}

static bool unzip_entry(struct zip *z)
{
    struct str bytes;

    do {
        if (!zip_bytes(z, &bytes) ||
            (bytes.len > 0 && !z->in.io->put(z->in.io, bytes, z->in.failure)))
            return false;
    } while (bytes.len > 0);
    return true;
}

static bool unzip_one(const struct packed *p, int64_t most)
{
    AUTO(zip_done) struct zip z = { .in = *p, .most = most };
    struct zip_entry entry;
    int64_t files = 0;
    bool is;

    for (;;) {
        if (!zip_next(&z, &entry, &is))
            return false;
        if (!is)
            break;
        files += !entry.folder;
        if (files > 1)
            return packed_bad(
                &z.in, "the archive has several files; `split: { zip: entries }` gives each");
        if (!entry.folder && !unzip_entry(&z))
            return false;
    }
    return files == 1 || packed_bad(&z.in, "the archive has no file");
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    const struct decompress *d = self;
    struct packed p = { .io = io, .failure = ret_failure, .who = "decompress" };
    enum packing packing = d->packing;

    if (!packed_fill(&p, 4))
        return false;
    if (packing == PACKING_AUTO)
        packing = packing_of(p.rest);
    if (packing == PACKING_AUTO)
        return packed_bad(&p, "this is neither gzip, zstd, deflate nor zip");
    return packing == PACKING_ZIP ? unzip_one(&p, d->most) : unpack_all(&p, packing, d->most);
}

const struct service_type service_decompress = {
    .kind = { .name = "decompress",
              .help = "unpack it",
              .keys = options,
              .example = "- decompress: { format: auto, most: 2 GiB }" },
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
