#include "base/sftp_wire.h"

#include <errno.h>

#include "base/require.h"

enum {
    INIT = 1,
    VERSION = 2,
    OPEN = 3,
    CLOSE = 4,
    READ = 5,
    WRITE = 6,
    LSTAT = 7,
    FSTAT = 8,
    FSETSTAT = 10,
    OPENDIR = 11,
    READDIR = 12,
    REMOVE = 13,
    MKDIR = 14,
    RMDIR = 15,
    REALPATH = 16,
    STAT = 17,
    RENAME = 18,
    EXTENDED = 200,
};

/* Flags of attributes. */
enum { HAS_SIZE = 1, HAS_OWNER = 2, HAS_MODE = 4, HAS_TIMES = 8 };
#define HAS_EXTENDED UINT32_C(0x80000000)

enum { EXTENSIONS_MOST = 64 };

/* ---- requests ---- */

static void wire_put_u32(struct buf *b, uint32_t v)
{
    const uint8_t bytes[] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8),
                              (uint8_t)v };

    buf_put(b, str_mem(bytes, sizeof bytes));
}

static void wire_put_u64(struct buf *b, uint64_t v)
{
    wire_put_u32(b, (uint32_t)(v >> 32));
    wire_put_u32(b, (uint32_t)v);
}

static void wire_put_text(struct buf *b, struct str s)
{
    require(s.len <= UINT32_MAX);
    wire_put_u32(b, (uint32_t)s.len);
    buf_put(b, s);
}

/* The length comes first and is known last. */
static size_t wire_packet_begin(struct buf *b, uint8_t type)
{
    size_t at = b->len;

    wire_put_u32(b, 0);
    buf_putc(b, (char)type);
    return at;
}

static void wire_packet_end(struct buf *b, size_t at)
{
    size_t len = b->len - at - SFTP_LENGTH;

    require(len <= UINT32_MAX);
    for (size_t i = 0; i < SFTP_LENGTH; i++)
        b->ptr[at + i] = (char)(uint8_t)(len >> (8 * (SFTP_LENGTH - 1 - i)));
}

static size_t wire_request_begin(struct buf *b, uint8_t type, uint32_t id)
{
    size_t at = wire_packet_begin(b, type);

    wire_put_u32(b, id);
    return at;
}

static void wire_put_named(struct buf *b, uint8_t type, uint32_t id, struct str name)
{
    size_t at = wire_request_begin(b, type, id);

    wire_put_text(b, name);
    wire_packet_end(b, at);
}

void sftp_put_init(struct buf *b)
{
    size_t at = wire_packet_begin(b, INIT);

    wire_put_u32(b, SFTP_VERSION);
    wire_packet_end(b, at);
}

void sftp_put_open(struct buf *b, uint32_t id, struct str path, uint32_t flags)
{
    size_t at = wire_request_begin(b, OPEN, id);

    wire_put_text(b, path);
    wire_put_u32(b, flags);
    wire_put_u32(b, 0); /* no attributes: the server's own rights for new files */
    wire_packet_end(b, at);
}

void sftp_put_close(struct buf *b, uint32_t id, struct str handle)
{
    wire_put_named(b, CLOSE, id, handle);
}

void sftp_put_read(struct buf *b, uint32_t id, struct str handle, uint64_t offset, uint32_t len)
{
    size_t at = wire_request_begin(b, READ, id);

    wire_put_text(b, handle);
    wire_put_u64(b, offset);
    wire_put_u32(b, len);
    wire_packet_end(b, at);
}

void sftp_put_write(struct buf *b, uint32_t id, struct str handle, uint64_t offset,
                    struct str bytes)
{
    size_t at = wire_request_begin(b, WRITE, id);

    wire_put_text(b, handle);
    wire_put_u64(b, offset);
    wire_put_text(b, bytes);
    wire_packet_end(b, at);
}

void sftp_put_lstat(struct buf *b, uint32_t id, struct str path)
{
    wire_put_named(b, LSTAT, id, path);
}

void sftp_put_stat(struct buf *b, uint32_t id, struct str path)
{
    wire_put_named(b, STAT, id, path);
}

void sftp_put_fstat(struct buf *b, uint32_t id, struct str handle)
{
    wire_put_named(b, FSTAT, id, handle);
}

void sftp_put_opendir(struct buf *b, uint32_t id, struct str path)
{
    wire_put_named(b, OPENDIR, id, path);
}

void sftp_put_readdir(struct buf *b, uint32_t id, struct str handle)
{
    wire_put_named(b, READDIR, id, handle);
}

void sftp_put_realpath(struct buf *b, uint32_t id, struct str path)
{
    wire_put_named(b, REALPATH, id, path);
}

void sftp_put_rmdir(struct buf *b, uint32_t id, struct str path)
{
    wire_put_named(b, RMDIR, id, path);
}

void sftp_put_cut(struct buf *b, uint32_t id, struct str handle, uint64_t size)
{
    size_t at = wire_request_begin(b, FSETSTAT, id);

    wire_put_text(b, handle);
    wire_put_u32(b, HAS_SIZE);
    wire_put_u64(b, size);
    wire_packet_end(b, at);
}

void sftp_put_remove(struct buf *b, uint32_t id, struct str path)
{
    wire_put_named(b, REMOVE, id, path);
}

void sftp_put_mkdir(struct buf *b, uint32_t id, struct str path)
{
    size_t at = wire_request_begin(b, MKDIR, id);

    wire_put_text(b, path);
    wire_put_u32(b, 0);
    wire_packet_end(b, at);
}

static void put_two_names(struct buf *b, size_t at, struct str from, struct str to)
{
    wire_put_text(b, from);
    wire_put_text(b, to);
    wire_packet_end(b, at);
}

void sftp_put_rename(struct buf *b, uint32_t id, struct str from, struct str to)
{
    put_two_names(b, wire_request_begin(b, RENAME, id), from, to);
}

static size_t extended_begin(struct buf *b, uint32_t id, const char *name)
{
    size_t at = wire_request_begin(b, EXTENDED, id);

    wire_put_text(b, str_of(name));
    return at;
}

void sftp_put_posix_rename(struct buf *b, uint32_t id, struct str from, struct str to)
{
    put_two_names(b, extended_begin(b, id, "posix-rename@openssh.com"), from, to);
}

void sftp_put_fsync(struct buf *b, uint32_t id, struct str handle)
{
    size_t at = extended_begin(b, id, "fsync@openssh.com");

    wire_put_text(b, handle);
    wire_packet_end(b, at);
}

void sftp_put_limits(struct buf *b, uint32_t id)
{
    wire_packet_end(b, extended_begin(b, id, "limits@openssh.com"));
}

/* ---- answers ---- */

/* What is left of a packet; `bad` once a field did not fit. */
struct fields {
    struct str rest;
    bool bad;
};

static struct str wire_take(struct fields *f, size_t len)
{
    struct str got = { f->rest.ptr, len };

    if (f->bad || f->rest.len < len) {
        f->bad = true;
        return STR("");
    }
    f->rest = str_from(f->rest, len);
    return got;
}

static uint64_t wire_take_number(struct fields *f, size_t bytes)
{
    struct str got = wire_take(f, bytes);
    uint64_t v = 0;

    for (size_t i = 0; i < got.len; i++)
        v = v << 8 | (uint8_t)got.ptr[i];
    return v;
}

static uint32_t wire_take_u32(struct fields *f)
{
    return (uint32_t)wire_take_number(f, 4);
}

static struct str wire_take_text(struct fields *f)
{
    return wire_take(f, wire_take_u32(f));
}

static bool say_nonsense(struct err *err)
{
    return err_set(err, ERR_TRANSIENT, EPROTO, "the server's answer is not SFTP version 3");
}

bool sftp_read_length(const uint8_t head[static SFTP_LENGTH], size_t *ret, struct err *err)
{
    struct fields f = { .rest = str_mem(head, SFTP_LENGTH) };
    uint32_t len = wire_take_u32(&f);

    if (len == 0 || len > SFTP_ANSWER_MOST)
        return say_nonsense(err);
    *ret = len;
    return true;
}

/* Fields that we do not want are passed over by their length. */
static struct sftp_attrs wire_take_attrs(struct fields *f)
{
    uint32_t flags = wire_take_u32(f);
    struct sftp_attrs a = { .has_size = (flags & HAS_SIZE) != 0,
                            .has_mode = (flags & HAS_MODE) != 0,
                            .has_times = (flags & HAS_TIMES) != 0 };

    if (a.has_size)
        a.size = wire_take_number(f, 8);
    if ((flags & HAS_OWNER) != 0)
        (void)wire_take(f, 8);
    if (a.has_mode)
        a.mode = wire_take_u32(f);
    if (a.has_times) {
        (void)wire_take(f, 4); /* of the last access */
        a.mtime = wire_take_u32(f);
    }
    if ((flags & HAS_EXTENDED) != 0)
        for (uint32_t pairs = wire_take_u32(f); pairs > 0 && !f->bad; pairs--) {
            (void)wire_take_text(f);
            (void)wire_take_text(f);
        }
    return a;
}

bool sftp_read_answer(struct str packet, struct sftp_answer *ret, struct err *err)
{
    struct fields f = { .rest = packet };
    struct sftp_answer a = { .kind = (enum sftp_kind)wire_take_number(&f, 1) };

    a.id = wire_take_u32(&f);
    switch (a.kind) {
    case SFTP_A_STATUS:
        a.status = wire_take_u32(&f);
        if (f.rest.len > 0) /* some servers leave the words out */
            a.message = wire_take_text(&f);
        break;
    case SFTP_A_HANDLE:
        a.data = wire_take_text(&f);
        f.bad = f.bad || a.data.len == 0 || a.data.len > SFTP_HANDLE_MOST;
        break;
    case SFTP_A_DATA:
        a.data = wire_take_text(&f);
        break;
    case SFTP_ATTRS:
        a.attrs = wire_take_attrs(&f);
        break;
    case SFTP_EXTENDED_REPLY:
        a.data = f.rest;
        break;
    case SFTP_A_NAME:
        a.count = wire_take_u32(&f);
        a.data = f.rest;
        break;
    default:
        f.bad = true;
        break;
    }
    if (f.bad)
        return say_nonsense(err);
    *ret = a;
    return true;
}

bool sftp_take_name(struct str *io_data, struct str *ret_name, struct sftp_attrs *ret_attrs,
                    struct err *err)
{
    struct fields f = { .rest = *io_data };
    struct str name = wire_take_text(&f);

    (void)wire_take_text(&f); /* the line of `ls -l` */
    struct sftp_attrs attrs = wire_take_attrs(&f);

    if (f.bad)
        return say_nonsense(err);
    *io_data = f.rest;
    *ret_name = name;
    *ret_attrs = attrs;
    return true;
}

bool sftp_read_version(struct str packet, unsigned *ret_extensions, struct err *err)
{
    static const struct {
        const char *name, *version;
        enum sftp_extension bit;
    } known[] = {
        { "posix-rename@openssh.com", "1", SFTP_POSIX_RENAME },
        { "fsync@openssh.com", "1", SFTP_FSYNC },
        { "limits@openssh.com", "1", SFTP_LIMITS },
    };
    struct fields f = { .rest = packet };
    uint64_t kind = wire_take_number(&f, 1);
    uint32_t version = wire_take_u32(&f);
    unsigned extensions = 0;

    if (f.bad || kind != VERSION)
        return say_nonsense(err);
    if (version != SFTP_VERSION)
        return err_set(err, ERR_TRANSIENT, EPROTO, "the server speaks SFTP version %u, not %d",
                       (unsigned)version, SFTP_VERSION);
    for (int i = 0; i < EXTENSIONS_MOST && f.rest.len > 0 && !f.bad; i++) {
        struct str name = wire_take_text(&f), data = wire_take_text(&f);

        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
            if (!f.bad && str_is(name, known[k].name) && str_is(data, known[k].version))
                extensions |= known[k].bit;
    }
    if (f.bad)
        return say_nonsense(err);
    *ret_extensions = extensions;
    return true;
}

bool sftp_read_limits(struct str data, uint64_t *ret_read, uint64_t *ret_write)
{
    struct fields f = { .rest = data };

    (void)wire_take_number(&f, 8); /* the longest packet */
    uint64_t longest_read = wire_take_number(&f, 8), longest_write = wire_take_number(&f, 8);

    if (f.bad)
        return false;
    *ret_read = longest_read;
    *ret_write = longest_write;
    return true;
}
