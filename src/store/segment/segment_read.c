/* segment_read.c - reading segments: one entry, all entries of a file, and deleting a file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"
#include "store/segment/entry.h"
#include "store/segment/segment.h"

enum { BLOCK = 1 << 20 };

int64_t segment_of_name(struct str name)
{
    struct str number, rest = str_cut(name, '.', &number);
    int64_t seg;

    return str_is(rest, "seg") && str_to_i64(number, &seg) && seg > 0 ? seg : 0;
}

bool segment_below(int dirfd, int64_t below, int64_t *ret, struct err *err)
{
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return err_set(err, ERR_TRANSIENT, errno, "list payload folder: %s", strerror(errno));
    }
    *ret = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        int64_t seg = segment_of_name(str_of(e->d_name));

        if (seg > *ret && seg < below)
            *ret = seg;
    }
    (void)closedir(dir);
    return true;
}

bool segment_exists(int dirfd, int64_t seg)
{
    char name[32];

    entry_file(seg, name);
    return faccessat(dirfd, name, F_OK, 0) == 0;
}

/* Record and origin; none if they are damaged. */
static bool read_record(int fd, int64_t at, const struct entry_header *head,
                        struct segment_about *io, struct err *err)
{
    struct buf *to = io->record;

    buf_clear(to);
    io->origin = (struct payload_ref){ 0 };
    if (head->record <= ENTRY_CHECK)
        return true;
    size_t len = head->record - ENTRY_CHECK;

    if (!buf_reserve(to, head->record, err) || !file_read_at(fd, to->ptr, head->record, at, err))
        return false;
    if (entry_get_u64(to->ptr + len) == entry_check(head->check, to->ptr, len)) {
        to->len = len;
        if (head->is_copy) {
            to->len -= ENTRY_ORIGIN;
            io->origin =
                (struct payload_ref){ .seg = (int64_t)entry_get_u64(to->ptr + to->len),
                                      .pos = (int64_t)entry_get_u64(to->ptr + to->len + 8) };
        }
    }
    to->ptr[to->len] = '\0';
    return true;
}

static bool read_header(int fd, struct payload_ref place, const struct id *id,
                        char h[static ENTRY_HEADER], struct entry_header *ret, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "payload segment %lld.seg: %s",
                       (long long)place.seg, strerror(errno));
    size_t room = st.st_size - place.pos == ENTRY_HEADER_FIRST ? ENTRY_HEADER_FIRST : ENTRY_HEADER;

    if (!file_read_at(fd, h, room, place.pos, err))
        return err_context(err, "payload segment %lld.seg at %lld", (long long)place.seg,
                           (long long)place.pos);
    return (entry_parse(h, room, place.seg, ret) && memcmp(h + 32, id->bytes, 16) == 0) ||
           err_set(err, ERR_PERMANENT, 0, "payload segment %lld.seg has no such entry at %lld",
                   (long long)place.seg, (long long)place.pos);
}

static bool check_digest(struct payload_ref place, const struct sha256 *want, struct str bytes,
                         struct err *err)
{
    struct sha256 got = digest_of(bytes);

    return digest_same(want, &got) ||
           err_set(err, ERR_PERMANENT, 0,
                   "payload segment %lld.seg at %lld is damaged: its digest differs",
                   (long long)place.seg, (long long)place.pos);
}

bool segment_read_entry(int dirfd, struct payload_ref place, const struct id *id, struct buf *to,
                        struct segment_about *io, struct err *err)
{
    char h[ENTRY_HEADER];
    struct entry_header head;
    struct sha256 want;
    char name[32];

    entry_file(place.seg, name);
    AUTO_FD fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_PERMANENT : ERR_TRANSIENT, errno,
                       "payload segment %s: %s", name, strerror(errno));
    if (!read_header(fd, place, id, h, &head, err))
        return false;
    int64_t at = place.pos + (int64_t)head.bytes;

    buf_clear(to);
    if (!buf_reserve(to, head.len, err) || !file_read_at(fd, to->ptr, head.len, at, err) ||
        (io != NULL && !read_record(fd, at + (int64_t)head.len, &head, io, err)))
        return err_context(err, "payload segment %lld.seg at %lld", (long long)place.seg,
                           (long long)place.pos);
    to->len = head.len;
    to->ptr[head.len] = '\0';
    memcpy(want.bytes, h + 48, sizeof want.bytes);
    if (io != NULL) {
        io->sha256 = want;
        io->elsewhere = head.len == 0 ? head.plain : 0;
    }
    return (io != NULL && io->elsewhere > 0) || check_digest(place, &want, buf_view(to), err);
}

bool segment_read(int dirfd, struct payload_ref place, const struct id *id, struct buf *to,
                  struct err *err)
{
    return segment_read_entry(dirfd, place, id, to, NULL, err);
}

struct scan {
    int fd;
    int64_t seg, size, at; /* at: the position of `block` in the file */
    size_t len;
    char *block;
};

/* *ret: the bytes at `pos`, *ret_room of them: a header, if there is one. */
static bool bytes_at(struct scan *s, int64_t pos, const char **ret, size_t *ret_room,
                     struct err *err)
{
    int64_t need = s->size - pos < ENTRY_HEADER ? s->size - pos : ENTRY_HEADER;

    if (pos < s->at || pos + need > s->at + (int64_t)s->len) {
        s->len = s->size - pos < BLOCK ? (size_t)(s->size - pos) : BLOCK;
        s->at = pos;
        if (!file_read_at(s->fd, s->block, s->len, pos, err))
            return err_context(err, "payload segment %lld", (long long)s->seg);
    }
    *ret = s->block + (pos - s->at);
    *ret_room = (size_t)need;
    return true;
}

static bool scan_all(struct scan *s, void (*found)(void *arg, const struct segment_entry *e),
                     void *arg, bool *ret_whole, struct err *err)
{
    bool gap = false;
    struct entry_header head;
    const char *h;
    size_t room;

    *ret_whole = true;
    for (int64_t pos = 0; pos + ENTRY_HEADER_FIRST <= s->size;) {
        if (!bytes_at(s, pos, &h, &room, err))
            return false;
        if (!entry_parse(h, room, s->seg, &head)) {
            gap = true;
            pos += 8;
            continue;
        }
        *ret_whole = *ret_whole && !gap;
        struct segment_entry e = { .pos = pos,
                                   .bytes = head.size,
                                   .commit = head.commit,
                                   .has_record = head.record >
                                                 (head.is_copy ? ENTRY_ORIGIN : 0) + ENTRY_CHECK,
                                   .is_copy = head.is_copy,
                                   .after_gap = !*ret_whole };

        memcpy(e.id.bytes, h + 32, sizeof e.id.bytes);
        gap = false;
        pos += e.bytes;
        found(arg, &e);
    }
    return true;
}

bool segment_scan(int dirfd, int64_t seg, void (*found)(void *arg, const struct segment_entry *e),
                  void *arg, int64_t *ret_bytes, bool *ret_whole, struct err *err)
{
    char name[32];
    struct stat st;
    struct scan s = { .seg = seg };

    entry_file(seg, name);
    AUTO_FD fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, errno == ENOENT ? ERR_PERMANENT : ERR_TRANSIENT, errno,
                       "payload segment %s: %s", name, strerror(errno));
    AUTO_TEXT block = xmalloc(BLOCK);

    s.fd = fd;
    s.size = st.st_size;
    s.block = block;
    *ret_bytes = st.st_size;
    return scan_all(&s, found, arg, ret_whole, err);
}

bool segment_unlink(int dirfd, int64_t seg, int64_t *ret_bytes, struct err *err)
{
    char name[32];
    struct stat st;

    *ret_bytes = 0;
    entry_file(seg, name);
    if (fstatat(dirfd, name, &st, 0) == 0)
        *ret_bytes = (int64_t)st.st_blocks * 512;
    if (unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
        return err_set(err, ERR_TRANSIENT, errno, "unlink payload segment %s: %s", name,
                       strerror(errno));
    file_sync_dir(dirfd, "payload folder");
    return true;
}
