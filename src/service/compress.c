/* compress.c - packs a document, piece by piece.
 *
 *     - compress: gzip
 *     - compress: { format: zip }
 *
 * The same bytes give the same result on every node: no time of day, no name of a machine.  The
 * time in a zip archive is that at which the document was received, its one entry has the name of
 * the document or, if that has none, `document`.  Sizes and checksum stand behind the entry,
 * because they are not known before; archives of 4 GiB and more are zip64.
 */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/civil.h"
#include "core/connector.h"

enum pack_format { PACK_GZIP, PACK_ZSTD, PACK_DEFLATE, PACK_ZIP };

static const char *const pack_formats[] = { "gzip", "zstd", "deflate", "zip", NULL };

struct compress {
    enum pack_format format;
};

static const struct option options[] = {
    OPTION("format", OPT_WORD, "how it is compressed", .words = pack_formats, .fallback = "gzip"),
    { 0 },
};

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct compress *c = ARENA_NEW(s->arena, struct compress);
    struct str format;

    if (!settings_text(s, "format", &format, err))
        return false;
    while (pack_formats[c->format] != NULL && !str_is(format, pack_formats[c->format]))
        c->format++;
    if (pack_formats[c->format] == NULL)
        return err_set(err, ERR_CONFIG, 0, "`format`: `%.*s` is not known", STR_ARG(format));
    *ret_self = c;
    return true;
}

static void unmake(void *self)
{
    (void)self;
}

/* ---- one packer ---- */

enum { ROOM = 64 << 10 };

struct packer {
    struct service_io *io;
    struct service_failure *failure;
    enum pack_format format;
    z_stream z;
    ZSTD_CStream *zstd;
    uint32_t sum; /* for zip */
    int64_t in, out;
    char room[ROOM];
};

static struct packer *packer_new(enum pack_format format, struct service_io *io,
                                 struct service_failure *ret_failure)
{
    static const int bits[] = { [PACK_GZIP] = 15 + 16, [PACK_DEFLATE] = 15, [PACK_ZIP] = -15 };
    struct packer *p = xmalloc(sizeof *p);

    p->io = io;
    p->failure = ret_failure;
    p->format = format;
    p->z = (z_stream){ 0 };
    p->zstd = NULL;
    p->sum = 0;
    p->in = p->out = 0;
    if (format == PACK_ZSTD) {
        p->zstd = ZSTD_createCStream();
        require(p->zstd != NULL);
        (void)ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1);
    } else {
        int rc = deflateInit2(&p->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, bits[format], 8,
                              Z_DEFAULT_STRATEGY);

        require(rc == Z_OK);
    }
    return p;
}

static void packer_free(struct packer **p)
{
    if ((*p)->zstd != NULL)
        (void)ZSTD_freeCStream((*p)->zstd);
    else
        (void)deflateEnd(&(*p)->z);
    free(*p);
}

static bool packer_put(struct packer *p, struct str bytes)
{
    p->out += (int64_t)bytes.len;
    return bytes.len == 0 || p->io->put(p->io, bytes, p->failure);
}

static bool pack_zstd(struct packer *p, struct str piece)
{
    ZSTD_inBuffer in = { piece.ptr, piece.len, 0 };
    ZSTD_EndDirective what = piece.len > 0 ? ZSTD_e_continue : ZSTD_e_end;
    size_t left;

    do {
        ZSTD_outBuffer out = { p->room, ROOM, 0 };

        left = ZSTD_compressStream2(p->zstd, &out, &in, what);
        if (ZSTD_isError(left))
            return service_fail(p->failure, DEAD_SERVICE_FAILED, "compress: %s",
                                ZSTD_getErrorName(left));
        if (!packer_put(p, str_mem(p->room, out.pos)))
            return false;
    } while (what == ZSTD_e_end ? left > 0 : in.pos < in.size);
    return true;
}

static bool pack_zlib(struct packer *p, struct str piece)
{
    int flush = piece.len > 0 ? Z_NO_FLUSH : Z_FINISH, rc;

    do {
        size_t n = piece.len < UINT32_MAX ? piece.len : UINT32_MAX;

        p->z.next_in = (unsigned char *)(uintptr_t)piece.ptr; /* zlib does not write there */
        p->z.avail_in = (unsigned)n;
        p->z.next_out = (unsigned char *)p->room;
        p->z.avail_out = ROOM;
        rc = deflate(&p->z, flush);
        require(rc != Z_STREAM_ERROR);
        piece = str_from(piece, n - p->z.avail_in);
        if (!packer_put(p, str_mem(p->room, ROOM - p->z.avail_out)))
            return false;
    } while (flush == Z_FINISH ? rc != Z_STREAM_END : piece.len > 0 || p->z.avail_out == 0);
    return true;
}

static bool pack(struct packer *p, struct str piece) /* empty: the end */
{
    if (p->format == PACK_ZIP && piece.len > 0)
        p->sum = (uint32_t)crc32_z(p->sum, (const unsigned char *)piece.ptr, piece.len);
    p->in += (int64_t)piece.len;
    return p->format == PACK_ZSTD ? pack_zstd(p, piece) : pack_zlib(p, piece);
}

static bool pack_all(struct packer *p)
{
    struct str piece;

    do {
        if (!p->io->next(p->io, &piece, p->failure) || !pack(p, piece))
            return false;
    } while (piece.len > 0);
    return true;
}

/* ---- zip ---- */

enum {
    ZIP_PLAIN = 20,
    ZIP_WIDE = 45,                /* the version that a reader needs */
    ZIP_FLAGS = 1 << 3 | 1 << 11, /* sizes stand behind the bytes, the name is UTF-8 */
    ZIP_DEFLATED = 8,
    ZIP_NAME_MOST = 255
};

/* A number of so many bytes, low byte first. */
static void put_low_first(struct buf *to, uint64_t n, int bytes)
{
    for (; bytes > 0; bytes--, n >>= 8)
        buf_putc(to, (char)(n & 0xff));
}

/* The last component of the document's name. */
static struct str pack_name(const struct service_document *d)
{
    struct str name = str_first(d->name, ZIP_NAME_MOST);

    for (size_t i = name.len; i-- > 0;)
        if (name.ptr[i] == '/' || name.ptr[i] == '\\') {
            name = str_from(name, i + 1);
            break;
        }
    bool is_name = name.len > 0 && !str_is(name, ".") && !str_is(name, "..") && str_is_utf8(name);

    return is_name ? name : STR("document");
}

/* Time and date as MS-DOS wrote them, in one number; from 1980 on. */
static uint64_t pack_time(int64_t us)
{
    int64_t seconds = civil_floor(us, CLOCK_S), day = civil_floor(seconds, CIVIL_DAY_S);
    int64_t s = seconds - day * CIVIL_DAY_S;
    struct civil_date d = civil_date(day);

    if (d.year < 1980 || d.year > 2107)
        return (1 << 5 | 1) << 16;
    return (uint64_t)(((d.year - 1980) << 9 | d.month << 5 | d.day) << 16 |
                      (s / 3600 << 11 | s / 60 % 60 << 5 | s % 60 / 2));
}

struct archive {
    bool wide; /* zip64 */
    uint64_t time;
    struct str name;
    int64_t from; /* the offset of the packed bytes */
};

/* What the header of an entry and its line in the directory have in common. */
static void put_entry(struct buf *to, const struct archive *a, uint32_t sum, uint64_t packed_size,
                      uint64_t size)
{
    put_low_first(to, a->wide ? ZIP_WIDE : ZIP_PLAIN, 2);
    put_low_first(to, ZIP_FLAGS, 2);
    put_low_first(to, ZIP_DEFLATED, 2);
    put_low_first(to, a->time, 4);
    put_low_first(to, sum, 4);
    put_low_first(to, a->wide ? UINT32_MAX : packed_size, 4);
    put_low_first(to, a->wide ? UINT32_MAX : size, 4);
    put_low_first(to, a->name.len, 2);
    put_low_first(to, a->wide ? 20 : 0, 2); /* bytes of extra fields */
}

static void put_zip64(struct buf *to, uint64_t packed_size, uint64_t size)
{
    put_low_first(to, 1, 2);
    put_low_first(to, 16, 2);
    put_low_first(to, size, 8);
    put_low_first(to, packed_size, 8);
}

/* Of an archive of one entry at its start the directory begins at `at`. */
static void put_zip_end(struct buf *to, bool wide, uint64_t at)
{
    uint64_t size = to->len;

    if (wide) {
        put_low_first(to, 0x06064b50, 4);
        put_low_first(to, 44, 8);
        put_low_first(to, ZIP_WIDE, 2);
        put_low_first(to, ZIP_WIDE, 2);
        put_low_first(to, 0, 8);
        put_low_first(to, 1, 8);
        put_low_first(to, 1, 8);
        put_low_first(to, size, 8);
        put_low_first(to, at, 8);
        put_low_first(to, 0x07064b50, 4);
        put_low_first(to, 0, 4);
        put_low_first(to, at + size, 8);
        put_low_first(to, 1, 4);
    }
    put_low_first(to, 0x06054b50, 4);
    put_low_first(to, 0, 4);
    put_low_first(to, 1, 2);
    put_low_first(to, 1, 2);
    put_low_first(to, size, 4);
    put_low_first(to, wide ? UINT32_MAX : at, 4);
    put_low_first(to, 0, 2);
}

static bool zip_begin(struct packer *p, struct archive *a)
{
    AUTO(buf_done) struct buf b = BUF_INIT(4096);

    /* What deflate cannot shrink grows by less than a thousandth. */
    a->wide = p->io->size < 0 || p->io->size >= UINT32_MAX - (UINT32_MAX >> 8);
    a->time = pack_time(p->io->document->received_us);
    a->name = pack_name(p->io->document);
    put_low_first(&b, 0x04034b50, 4);
    put_entry(&b, a, 0, 0, 0);
    buf_put(&b, a->name);
    if (a->wide)
        put_zip64(&b, 0, 0);
    bool ok = packer_put(p, buf_view(&b));

    a->from = p->out;
    return ok;
}

static bool zip_end(struct packer *p, const struct archive *a)
{
    uint64_t size = (uint64_t)p->in, packed_size = (uint64_t)(p->out - a->from);
    AUTO(buf_done) struct buf b = BUF_INIT(4096);

    put_low_first(&b, 0x08074b50, 4);
    put_low_first(&b, p->sum, 4);
    put_low_first(&b, packed_size, a->wide ? 8 : 4);
    put_low_first(&b, size, a->wide ? 8 : 4);
    if (!packer_put(p, buf_view(&b)))
        return false;
    buf_clear(&b);
    put_low_first(&b, 0x02014b50, 4);
    put_low_first(&b, a->wide ? ZIP_WIDE : ZIP_PLAIN, 2); /* made by */
    put_entry(&b, a, p->sum, packed_size, size);
    put_low_first(&b, 0, 6); /* comment, disk, kind of text */
    put_low_first(&b, 0, 8); /* attributes, place of the entry */
    buf_put(&b, a->name);
    if (a->wide)
        put_zip64(&b, packed_size, size);
    put_zip_end(&b, a->wide, (uint64_t)p->out);
    return packer_put(p, buf_view(&b));
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    const struct compress *c = self;
    AUTO(packer_free) struct packer *p = packer_new(c->format, io, ret_failure);

    struct archive a;

    if (c->format != PACK_ZIP)
        return pack_all(p);
    return zip_begin(p, &a) && pack_all(p) && zip_end(p, &a);
}

const struct service_type service_compress = {
    .kind = { .name = "compress",
              .help = "compress it",
              .keys = options,
              .example = "- compress: gzip" },
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
