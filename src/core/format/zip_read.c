#include "core/format/zip_read.h"

#include <zlib.h>

enum {
    SIGNATURE = 4,
    ENTRY = 0x04034b50,
    LISTED = 0x02014b50,
    TRAILER = 0x08074b50,
    END = 0x06054b50,
    END_64 = 0x06064b50,
    LOCATOR_64 = 0x07064b50,

    ENTRY_SIZE = 30,  /* without name and extra fields */
    LISTED_SIZE = 46, /* without name, extra fields and comment */
    END_SIZE = 22,
    LOCATOR_SIZE = 20,
    HEADER_MOST = 256 << 10,

    FLAG_ENCRYPTED = 1 | 1 << 6 | 1 << 13,
    FLAG_TRAILED = 1 << 3,
    STORED = 0,
    DEFLATED = 8,
    EXTRA_64 = 1
};

/* ---- numbers, low byte first ---- */

static uint64_t zip_number(struct str s, size_t at, size_t bytes)
{
    uint64_t n = 0;

    for (size_t i = bytes; i-- > 0;)
        n = n << 8 | (at + i < s.len ? (unsigned char)s.ptr[at + i] : 0);
    return n;
}

static uint64_t zip_hash_bytes(uint64_t h, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.ptr[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t zip_hash_number(uint64_t h, uint64_t n)
{
    return zip_hash_bytes(h, str_mem(&n, sizeof n));
}

static bool zip_take_header(struct zip *z, size_t count, const char *what)
{
    return packed_take(&z->in, count, &z->header, what);
}

/* The 64-bit field of this kind in extra fields; ptr NULL: there is none. */
static struct str extra_64(struct str extra)
{
    while (extra.len >= 4) {
        size_t len = (size_t)zip_number(extra, 2, 2);

        if (len > extra.len - 4)
            break;
        if (zip_number(extra, 0, 2) == EXTRA_64)
            return str_mem(extra.ptr + 4, len);
        extra = str_from(extra, 4 + len);
    }
    return (struct str){ 0 };
}

/* A size whose 32 bits are all set stands in the extra field. */
static uint64_t widen(uint64_t n, struct str *wide)
{
    if (n != UINT32_MAX || wide->len < 8)
        return n;
    n = zip_number(*wide, 0, 8);
    *wide = str_from(*wide, 8);
    return n;
}

/* ---- names ---- */

static struct str last_component(struct str path)
{
    for (size_t i = path.len; i-- > 0;)
        if (path.ptr[i] == '/' || path.ptr[i] == '\\')
            return str_from(path, i + 1);
    return path;
}

/* Old archives have names in the code page of some machine: those bytes are not guessed at. */
static bool zip_read_name(struct zip *z, struct str path, struct str *ret)
{
    struct str name = last_component(path);
    bool utf8 = str_is_utf8(name);

    if (name.len == 0 || name.len > ZIP_NAME_MOST || str_is(name, ".") || str_is(name, ".."))
        return service_fail(z->in.failure, DEAD_SERVICE_FAILED,
                            "%s: entry %lld has no name that a file could have, at byte %lld",
                            z->in.who, (long long)z->count, (long long)z->place + 1);
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];

        z->name[i] = (char)(c < ' ' || c == 0x7f || (c >= 0x80 && !utf8) ? '_' : c);
    }
    *ret = str_mem(z->name, name.len);
    return true;
}

/* ---- entries ---- */

static bool zip_check_flags(struct zip *z, uint64_t flags, uint64_t method)
{
    if ((flags & FLAG_ENCRYPTED) != 0)
        return service_fail(z->in.failure, DEAD_SERVICE_FAILED,
                            "%s: entry %lld is encrypted, at byte %lld", z->in.who,
                            (long long)z->count, (long long)z->place + 1);
    if (method != STORED && method != DEFLATED)
        return service_fail(z->in.failure, DEAD_SERVICE_FAILED,
                            "%s: entry %lld is compressed by method %d, and only deflate (8) is "
                            "read, at byte %lld",
                            z->in.who, (long long)z->count, (int)method, (long long)z->place + 1);
    return true;
}

/* Behind the signature of an entry. */
static bool read_entry(struct zip *z, struct zip_entry *ret)
{
    static const char what[] = "the header of an entry";

    if (!zip_take_header(z, ENTRY_SIZE - SIGNATURE, what))
        return false;
    struct str h = buf_view(&z->header);
    size_t name_len = (size_t)zip_number(h, 26, 2), extra_len = (size_t)zip_number(h, 28, 2);

    if (!zip_take_header(z, name_len + extra_len, what))
        return false;
    h = buf_view(&z->header);
    struct str path = str_mem(h.ptr + ENTRY_SIZE, name_len);
    struct str wide = extra_64(str_from(h, ENTRY_SIZE + name_len));

    z->count++;
    z->wide = wide.ptr != NULL;
    z->trailed = (zip_number(h, 6, 2) & FLAG_TRAILED) != 0;
    z->stored = zip_number(h, 8, 2) == STORED;
    z->want_sum = (uint32_t)zip_number(h, 14, 4);
    z->size = (int64_t)widen(zip_number(h, 22, 4), &wide);
    z->packed_size = (int64_t)widen(zip_number(h, 18, 4), &wide);
    z->from = z->in.at;
    z->left = z->stored ? z->packed_size : 0;
    z->sum = 0;
    z->over = false;
    z->out = 0;
    z->name_hash = zip_hash_bytes(UINT64_C(0xcbf29ce484222325), path);
    *ret = (struct zip_entry){ .number = z->count,
                               .folder = path.len > 0 && path.ptr[path.len - 1] == '/' };
    z->open = zip_check_flags(z, zip_number(h, 6, 2), zip_number(h, 8, 2));
    if (z->size < 0 || z->packed_size < 0)
        return packed_bad(&z->in, "the size of an entry is impossible");
    if (z->open && !z->stored && z->unpack == NULL)
        z->unpack = unpack_new(UNPACK_RAW);
    else if (z->open && !z->stored)
        unpack_reset(z->unpack);
    return z->open && (ret->folder || zip_read_name(z, path, &ret->name));
}

/* Checksum and sizes behind the bytes, with or without a signature. */
static bool read_trailer(struct zip *z)
{
    static const char what[] = "the sizes behind an entry";
    size_t each = z->wide || z->out > UINT32_MAX ? 8 : 4;

    buf_clear(&z->header);
    if (!zip_take_header(z, SIGNATURE, what))
        return false;
    if (zip_number(buf_view(&z->header), 0, 4) == TRAILER) {
        buf_clear(&z->header);
        if (!zip_take_header(z, SIGNATURE, what))
            return false;
    }
    if (!zip_take_header(z, 2 * each, what))
        return false;
    struct str h = buf_view(&z->header);

    z->want_sum = (uint32_t)zip_number(h, 0, 4);
    z->packed_size = (int64_t)zip_number(h, 4, each);
    z->size = (int64_t)zip_number(h, 4 + each, each);
    return true;
}

static bool end_entry(struct zip *z)
{
    int64_t packed_size = z->in.at - z->from;

    z->open = false;
    if (z->trailed && !read_trailer(z))
        return false;
    if (z->packed_size != packed_size || z->size != z->out)
        return packed_bad(&z->in, "an entry has another size than its header says");
    if (z->sum != z->want_sum)
        return packed_bad(&z->in, "the checksum of an entry is wrong");
    z->all += zip_hash_number(
        zip_hash_number(zip_hash_number(zip_hash_number(z->name_hash, (uint64_t)z->place), z->sum),
                        (uint64_t)z->size),
        (uint64_t)z->packed_size);
    return true;
}

static bool zip_stored(struct zip *z, struct str *ret)
{
    z->over = z->left == 0;
    if (z->over)
        return true;
    if (!packed_fill(&z->in, 1))
        return false;
    if (z->in.rest.len == 0)
        return packed_bad(&z->in, "it ends within an entry");
    size_t n = (int64_t)z->in.rest.len < z->left ? z->in.rest.len : (size_t)z->left;

    *ret = str_mem(z->in.rest.ptr, n);
    packed_skip(&z->in, n);
    z->left -= (int64_t)n;
    return true;
}

bool zip_bytes(struct zip *z, struct str *ret)
{
    *ret = (struct str){ 0 };
    if (!z->open)
        return true;
    while (!z->over && ret->len == 0) {
        if (!(z->stored ? zip_stored(z, ret) : unpack_step(z->unpack, &z->in, ret, &z->over)) ||
            !packed_count(&z->in, ret->len, z->most))
            return false;
        if (ret->len > 0)
            z->sum = (uint32_t)crc32_z(z->sum, (const unsigned char *)ret->ptr, ret->len);
        z->out += (int64_t)ret->len;
    }
    return ret->len > 0 || end_entry(z);
}

/* ---- the directory ---- */

/* Behind the signature of one of its lines. */
static bool read_listed(struct zip *z)
{
    static const char what[] = "the directory";

    if (!zip_take_header(z, LISTED_SIZE - SIGNATURE, what))
        return false;
    struct str h = buf_view(&z->header);
    size_t name_len = (size_t)zip_number(h, 28, 2), extra_len = (size_t)zip_number(h, 30, 2);
    size_t comment_len = (size_t)zip_number(h, 32, 2);

    if (!zip_take_header(z, name_len + extra_len + comment_len, what))
        return false;
    h = buf_view(&z->header);
    struct str extra = str_mem(h.ptr + LISTED_SIZE + name_len, extra_len);
    struct str wide = extra_64(extra);
    uint64_t size = widen(zip_number(h, 24, 4), &wide);
    uint64_t packed_size = widen(zip_number(h, 20, 4), &wide);
    uint64_t place = widen(zip_number(h, 42, 4), &wide);
    uint64_t hash =
        zip_hash_bytes(UINT64_C(0xcbf29ce484222325), str_mem(h.ptr + LISTED_SIZE, name_len));

    z->listed += zip_hash_number(
        zip_hash_number(zip_hash_number(zip_hash_number(hash, place), zip_number(h, 16, 4)), size),
        packed_size);
    return true;
}

/* Behind the signature of the record that ends an archive. */
static bool read_end(struct zip *z)
{
    static const char what[] = "the end of the archive";

    if (!zip_take_header(z, END_SIZE - SIGNATURE, what))
        return false;
    size_t comment = (size_t)zip_number(buf_view(&z->header), 20, 2);

    if (!zip_take_header(z, comment, what) || !packed_fill(&z->in, 1))
        return false;
    if (z->in.rest.len > 0)
        return packed_bad(&z->in, "something stands behind the end of the archive");
    return true;
}

static bool skip_end_64(struct zip *z)
{
    static const char what[] = "the end of the archive";

    if (!zip_take_header(z, 8, what))
        return false;
    uint64_t size = zip_number(buf_view(&z->header), SIGNATURE, 8);

    return zip_take_header(z, size < HEADER_MOST ? (size_t)size : HEADER_MOST, what);
}

static bool zip_signature(struct zip *z, uint64_t *ret)
{
    buf_clear(&z->header);
    z->place = z->in.at;
    if (!zip_take_header(z, SIGNATURE, "the archive"))
        return false;
    *ret = zip_number(buf_view(&z->header), 0, SIGNATURE);
    return true;
}

static bool read_directory(struct zip *z, uint64_t signature)
{
    int64_t listed = 0;

    for (; signature == LISTED; listed++)
        if (!read_listed(z) || !zip_signature(z, &signature))
            return false;
    if (signature == END_64 && (!skip_end_64(z) || !zip_signature(z, &signature)))
        return false;
    if (signature == LOCATOR_64 &&
        (!zip_take_header(z, LOCATOR_SIZE - SIGNATURE, "the end of the archive") ||
         !zip_signature(z, &signature)))
        return false;
    if (signature != END)
        return packed_bad(&z->in, "this is neither an entry nor a directory of a zip archive");
    if (listed != z->count || z->listed != z->all)
        return packed_bad(&z->in, "the directory does not name the entries that are there");
    return read_end(z);
}

bool zip_next(struct zip *z, struct zip_entry *ret, bool *ret_is)
{
    uint64_t signature;
    struct str bytes;

    if (z->header.cap == 0)
        z->header = (struct buf)BUF_INIT(HEADER_MOST);
    while (z->open) /* the caller did not want it all */
        if (!zip_bytes(z, &bytes))
            return false;
    if (!zip_signature(z, &signature))
        return false;
    *ret_is = signature == ENTRY;
    return *ret_is ? read_entry(z, ret) : read_directory(z, signature);
}

void zip_done(struct zip *z)
{
    unpack_free(z->unpack);
    z->unpack = NULL;
    buf_done(&z->header);
}
