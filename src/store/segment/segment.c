/* segment.c - payloads in append-only files.
 *
 * Problem.  A row may name a payload only when the payload is on stable storage.  A sync takes
 * milliseconds, so all payloads of a group share one; and that sync must not write metadata, for a
 * sync of a file that grows also writes its size and costs twice as much.
 *
 * Method.  A segment has its full size before its first use: the maker thread fills the file
 * `.spare` with zeros and syncs it.  When the open segment is full, roll() renames the spare to
 * the next segment number.  segments_add() assigns a place and copies the entry to the stage; the
 * stage is written when it is full, and an entry larger than the stage is written directly.
 * segments_flush() writes the rest and syncs once.  After that the writer commits the rows.
 *
 * Invariants
 *   (1) An entry that segments_flush() covered is on stable storage.  roll() syncs the old segment
 *       before it is left.  A failed sync ends the process: the kernel may have dropped the pages,
 *       and reports the error only once.
 *   (2) An entry that was flushed is never overwritten.  In a running process `end` moves back only
 *       to the beginning of the stage (segments_cancel()); flushed entries lie before it.
 *   (3) Segment numbers only grow, also when the clock goes back: the next number is the newest
 *       plus one, or the first of today if that is larger.  The newest segment is never deleted.
 *   (4) The maker and the writer never use `.spare` at the same time.  The maker fills it while
 *       `wanted` is set and `ready` is not; take_spare() clears both, and want_spare() is called
 *       only after the rename.  (A maker that began earlier would zero committed payloads.)
 *   (5) Nothing can fail between the rename and the first use: the spare is opened before.
 *
 * Crashes
 *   While the spare is filled: its name is not that of a segment; the next start fills it again.
 *   After the rename, before the folder is synced: the file is found under either name.  It holds
 *     zeros, and no row names it.
 *   While entries are written: the segment ends in a torn tail.  An entry in it whose header is
 *     valid counts as an entry, even if its bytes are not; it only costs space, since no row
 *     names it.
 *   After the flush, before the commit: the same, with whole entries.
 *   After the commit: (1).
 *
 * Start.  Only the newest segment is ever appended to.  segment_find_end() continues behind its
 * last valid header, not at the first invalid one: behind a single damaged header there may be
 * committed payloads.  The scan checks every multiple of 8 behind a damaged header, so it may take
 * bytes inside a payload for a header.  This can break (2) only if a payload holds a valid header
 * with the number of its own segment, whose length ends within the last entry.
 *
 * Races.  segment_read() runs on any thread, with a descriptor of its own.  Its callers have the
 * place from a committed row, so the entry does not change any more.  A segment that retention
 * unlinks stays readable through open descriptors; a later read gets ENOENT, and its caller looks
 * up the new place in the table `moved` (payload.c).
 *
 * docs/internals/segment.md tells how to inspect a segment.
 */
#include "store/segment/segment.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/require.h"
#include "base/thread.h"

enum {
    HEADER = 96,
    STAGE = 512 << 10, /* bytes of entries that one write gathers */
    ZERO_BLOCK = 1 << 20,
    FILL_PAUSE_US = 5000,
    MAGIC = 0x31504257,
    PER_DAY = 100000,
};

static const char spare_name[] = ".spare";

struct segments {
    int dirfd;
    int64_t bytes; /* the size of a new segment */

    /* Used by the writer thread only. */
    int fd;
    int64_t seg, end;   /* the open segment, and the position of its next entry */
    int64_t room;       /* its size */
    int64_t staged_pos; /* where the stage will be written */
    char *stage;
    size_t staged;
    bool dirty; /* written since the last sync */

    /* The spare file; the maker thread fills it. */
    pthread_t maker;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool wanted, ready, stopping, hurry; /* hurry: the writer waits for the spare */
    struct err spare_err;
};

static void segment_put_u64(char *at, uint64_t v)
{
    v = htole64(v);
    memcpy(at, &v, sizeof v);
}

static uint64_t get_u64(const char *at)
{
    uint64_t v;

    memcpy(&v, at, sizeof v);
    return le64toh(v);
}

/* Detects torn and damaged headers; it is no protection against forgery. */
static uint64_t check_of(const char *header)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15);

    for (int i = 0; i < 88; i += 8) {
        h = (h ^ get_u64(header + i)) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return h;
}

static void make_header(char h[static HEADER], int64_t seg, const struct id *id,
                        const struct sha256 *sha, size_t len)
{
    memset(h, 0, HEADER);
    segment_put_u64(h, (uint64_t)MAGIC | (uint64_t)HEADER << 32);
    segment_put_u64(h + 8, (uint64_t)seg);
    segment_put_u64(h + 16, len);
    segment_put_u64(h + 24, len);
    memcpy(h + 32, id->bytes, sizeof id->bytes);
    memcpy(h + 48, sha->bytes, sizeof sha->bytes);
    segment_put_u64(h + 88, check_of(h));
}

static bool header_is_valid(const char *h, int64_t seg)
{
    return get_u64(h) == ((uint64_t)MAGIC | (uint64_t)HEADER << 32) &&
           get_u64(h + 8) == (uint64_t)seg && get_u64(h + 88) == check_of(h) &&
           get_u64(h + 16) <= SEGMENT_PAYLOAD_MOST;
}

static int64_t entry_size(uint64_t len)
{
    return (int64_t)((HEADER + len + 7) & ~UINT64_C(7));
}

static void file_name(int64_t seg, char name[static 32])
{
    (void)snprintf(name, 32, "%lld.seg", (long long)seg);
}

/* ---- the spare ---- */

static bool in_a_hurry(struct segments *s)
{
    (void)pthread_mutex_lock(&s->mutex);
    bool hurry = s->hurry || s->stopping;

    (void)pthread_mutex_unlock(&s->mutex);
    return hurry;
}

/* Syncs and pauses after each block, so that the syncs of groups do not queue behind this one;
 * omits both while the writer waits for the spare, and when the store closes. */
static bool segment_fill(struct segments *s, struct err *err)
{
    AUTO_FD fd = openat(s->dirfd, spare_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    AUTO_TEXT zeros = xcalloc(1, ZERO_BLOCK);

    if (fd < 0)
        return err_set(err, file_err_kind(errno), errno, "create %s: %s", spare_name,
                       strerror(errno));
    for (int64_t at = 0; at < s->bytes; at += ZERO_BLOCK) {
        size_t n = s->bytes - at < ZERO_BLOCK ? (size_t)(s->bytes - at) : ZERO_BLOCK;

        if (!file_write_at(fd, str_mem(zeros, n), at, err)) {
            (void)unlinkat(s->dirfd, spare_name, 0); /* free the space */
            return err_context(err, "make a payload segment");
        }
        if (!in_a_hurry(s)) {
            file_sync(fd, "payload segment");
            clock_sleep_us(FILL_PAUSE_US);
        }
    }
    file_sync(fd, "payload segment");
    return true;
}

static void *maker_main(void *arg)
{
    struct segments *s = arg;

    (void)pthread_mutex_lock(&s->mutex);
    for (;;) {
        while (!s->stopping && (!s->wanted || s->ready))
            (void)pthread_cond_wait(&s->changed, &s->mutex);
        if (s->stopping)
            break;
        (void)pthread_mutex_unlock(&s->mutex);
        struct err err = { 0 };
        bool ok = segment_fill(s, &err);

        (void)pthread_mutex_lock(&s->mutex);
        s->ready = ok;
        s->spare_err = err;
        s->wanted = false; /* after a failure take_spare() sets it again */
        (void)pthread_cond_broadcast(&s->changed);
    }
    (void)pthread_mutex_unlock(&s->mutex);
    return NULL;
}

static bool take_spare(struct segments *s, struct err *err)
{
    bool ok;

    (void)pthread_mutex_lock(&s->mutex);
    s->wanted = s->hurry = !s->ready;
    (void)pthread_cond_broadcast(&s->changed);
    while (!s->ready && s->wanted)
        (void)pthread_cond_wait(&s->changed, &s->mutex);
    ok = s->ready;
    s->hurry = false;
    s->ready = s->wanted = false; /* the writer owns `.spare` until want_spare() */
    if (!ok)
        *err = s->spare_err;
    (void)pthread_mutex_unlock(&s->mutex);
    return ok;
}

static void want_spare(struct segments *s)
{
    (void)pthread_mutex_lock(&s->mutex);
    s->wanted = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->mutex);
}

/* ---- the open segment ---- */

static int64_t today(void)
{
    time_t t = (time_t)(clock_wall_us() / CLOCK_S);
    struct tm tm;

    (void)gmtime_r(&t, &tm);
    return ((tm.tm_year + 1900) * INT64_C(10000) + (tm.tm_mon + 1) * 100 + tm.tm_mday) * PER_DAY;
}

static bool roll(struct segments *s, struct err *err)
{
    char name[32];
    int64_t first = today(), next = s->seg >= first ? s->seg + 1 : first + 1;

    if (s->fd >= 0 && s->dirty)
        file_sync(s->fd, "payload segment");
    s->dirty = false;
    if (!take_spare(s, err))
        return false;
    int fd = openat(s->dirfd, spare_name, O_RDWR | O_CLOEXEC); /* before the rename: (5) */

    if (fd < 0)
        return err_set(err, ERR_TRANSIENT, errno, "open %s: %s", spare_name, strerror(errno));
    fault_point(SEGMENT_ROLL);
    file_name(next, name);
    if (!publish_file(s->dirfd, spare_name, name, false, err)) {
        (void)close(fd);
        return false;
    }
    if (s->fd >= 0)
        (void)close(s->fd);
    s->fd = fd;
    s->seg = next;
    s->end = 0;
    s->room = s->bytes;
    want_spare(s);
    return true;
}

static bool newest(int dirfd, int64_t *ret_seg, struct err *err)
{
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return err_set(err, ERR_TRANSIENT, errno, "list payload folder: %s", strerror(errno));
    }
    *ret_seg = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        int64_t seg = segment_of_name(str_of(e->d_name));

        if (seg > *ret_seg)
            *ret_seg = seg;
    }
    (void)closedir(dir);
    return true;
}

/* *ret_at: the next valid header at or behind `from`; -1: there is none. */
static bool find_entry(struct segments *s, int64_t from, int64_t *ret_at, struct err *err)
{
    /* The windows overlap by a header, which may lie across their border. */
    for (int64_t at = from; at + HEADER <= s->room; at += STAGE - HEADER) {
        size_t n = s->room - at < STAGE ? (size_t)(s->room - at) : STAGE;

        if (!file_read_at(s->fd, s->stage, n, at, err))
            return false;
        for (size_t i = 0; i + HEADER <= n; i += 8)
            if (header_is_valid(s->stage + i, s->seg)) {
                *ret_at = at + (int64_t)i;
                return true;
            }
    }
    *ret_at = -1;
    return true;
}

/* Sets `end` behind the last valid entry.  An invalid header with no valid one behind it begins a
 * torn tail.  Otherwise it is damaged, and the entries behind it may be committed. */
static bool segment_find_end(struct segments *s, struct err *err)
{
    char h[HEADER];

    for (int64_t at = 0; at >= 0;) {
        bool fits = at + HEADER <= s->room;

        if (fits && !file_read_at(s->fd, h, HEADER, at, err))
            return false;
        if (fits && header_is_valid(h, s->seg))
            s->end = at += entry_size(get_u64(h + 16));
        else if (!find_entry(s, at, &at, err))
            return false;
    }
    if (s->end > s->room)
        s->end = s->room;
    return true;
}

/* Opens the newest segment, to append behind its last valid entry. */
static bool resume(struct segments *s, struct err *err)
{
    char name[32];
    struct stat st;

    if (!newest(s->dirfd, &s->seg, err))
        return false;
    if (s->seg == 0)
        return true; /* the first payload creates the first segment */
    file_name(s->seg, name);
    s->fd = openat(s->dirfd, name, O_RDWR | O_CLOEXEC);
    if (s->fd < 0 || fstat(s->fd, &st) < 0)
        return err_set(err, ERR_CONFIG, errno, "open payload/%s: %s", name, strerror(errno));
    s->room = st.st_size;
    return segment_find_end(s, err);
}

static int64_t default_bytes(int dirfd)
{
    int64_t free_bytes = 0;
    int64_t bytes = INT64_C(64) << 20;
    struct err err;

    if (file_free_bytes(dirfd, &free_bytes, &err))
        while (bytes > (4 << 20) && bytes > free_bytes / 16)
            bytes /= 2;
    return bytes;
}

bool segments_open(int dirfd, int64_t bytes, struct segments **ret, struct err *err)
{
    struct segments *s = NEW(struct segments);

    s->dirfd = dirfd;
    s->bytes = bytes > 0 ? bytes : default_bytes(dirfd);
    s->fd = -1;
    s->stage = xmalloc(STAGE);
    (void)pthread_mutex_init(&s->mutex, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    if (!resume(s, err)) {
        if (s->fd >= 0)
            (void)close(s->fd);
        free(s->stage);
        free(s);
        return false;
    }
    thread_start(&s->maker, "segment maker", maker_main, s);
    want_spare(s);
    *ret = s;
    return true;
}

void segments_close(struct segments *s)
{
    if (s == NULL)
        return;
    (void)pthread_mutex_lock(&s->mutex);
    s->stopping = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->mutex);
    (void)pthread_join(s->maker, NULL);
    if (s->fd >= 0)
        (void)close(s->fd);
    free(s->stage);
    free(s);
}

static bool write_stage(struct segments *s, struct err *err)
{
    if (s->staged == 0)
        return true;
    if (fault_error(SEGMENT_WRITE))
        return err_set(err, ERR_LIMIT, ENOSPC, "write payload: no space left (injected)");
    if (!file_write_at(s->fd, str_mem(s->stage, s->staged), s->staged_pos, err))
        return err_context(err, "payload segment %lld", (long long)s->seg);
    s->dirty = true;
    s->staged = 0;
    return true;
}

bool segments_add(struct segments *s, const struct id *id, const struct sha256 *sha,
                  struct str bytes, struct payload_ref *ret, struct err *err)
{
    int64_t size = entry_size(bytes.len);

    require(bytes.len <= SEGMENT_PAYLOAD_MOST);
    if (s->fd < 0 || s->end + size > s->room) {
        if (!write_stage(s, err) || !roll(s, err))
            return false;
    }
    if (s->staged + (size_t)size > STAGE && !write_stage(s, err))
        return false;
    char header[HEADER];

    make_header(header, s->seg, id, sha, bytes.len);
    *ret = (struct payload_ref){ .seg = s->seg, .pos = s->end };
    if ((size_t)size > STAGE) { /* written directly; the stage is empty here */
        if (!file_write_at(s->fd, str_mem(header, HEADER), s->end, err) ||
            !file_write_at(s->fd, bytes, s->end + HEADER, err))
            return err_context(err, "payload segment %lld", (long long)s->seg);
        s->dirty = true;
    } else {
        char *at = s->stage + s->staged;

        if (s->staged == 0)
            s->staged_pos = s->end;
        memcpy(at, header, HEADER);
        memcpy(at + HEADER, bytes.ptr, bytes.len);
        memset(at + HEADER + bytes.len, 0, (size_t)size - HEADER - bytes.len);
        s->staged += (size_t)size;
    }
    s->end += size;
    return true;
}

void segments_cancel(struct segments *s)
{
    if (s->staged > 0)
        s->end = s->staged_pos;
    s->staged = 0;
}

bool segments_flush(struct segments *s, struct err *err)
{
    if (!write_stage(s, err))
        return false;
    if (s->dirty && fault_switch("WAYBILL_TEST_NO_PAYLOAD_SYNC") == NULL) {
        if (fault_error(SEGMENT_SYNC))
            file_fatal("payload segment (injected)", EIO);
        file_sync(s->fd, "payload segment");
        fault_point(SEGMENT_SYNCED);
    }
    s->dirty = false;
    return true;
}

struct payload_ref segments_end(const struct segments *s)
{
    return (struct payload_ref){ .seg = s->seg, .pos = s->end };
}

int64_t segment_of_name(struct str name)
{
    struct str number, rest = str_cut(name, '.', &number);
    int64_t seg;

    return str_is(rest, "seg") && str_to_i64(number, &seg) && seg > 0 ? seg : 0;
}

bool segment_read(int dirfd, struct payload_ref place, const struct id *id, struct buf *to,
                  struct err *err)
{
    char name[32], h[HEADER];
    struct sha256 want, got;

    file_name(place.seg, name);
    AUTO_FD fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_PERMANENT : ERR_TRANSIENT, errno,
                       "payload segment %s: %s", name, strerror(errno));
    if (!file_read_at(fd, h, HEADER, place.pos, err))
        return err_context(err, "payload segment %s at %lld", name, (long long)place.pos);
    if (!header_is_valid(h, place.seg) || memcmp(h + 32, id->bytes, 16) != 0)
        return err_set(err, ERR_PERMANENT, 0, "payload segment %s has no such entry at %lld", name,
                       (long long)place.pos);
    size_t len = get_u64(h + 16);

    buf_clear(to);
    if (!buf_reserve(to, len, err) || !file_read_at(fd, to->ptr, len, place.pos + HEADER, err))
        return err_context(err, "payload segment %s at %lld", name, (long long)place.pos);
    to->len = len;
    to->ptr[len] = '\0';
    memcpy(want.bytes, h + 48, sizeof want.bytes);
    got = digest_of(buf_view(to));
    if (!digest_same(&want, &got))
        return err_set(err, ERR_PERMANENT, 0,
                       "payload segment %s at %lld is damaged: its digest differs", name,
                       (long long)place.pos);
    return true;
}

/* ---- for retention ---- */

int64_t segments_newest(const struct segments *s)
{
    return s->seg;
}

struct scan {
    int fd;
    int64_t seg, size, at; /* at: the position of `block` in the file */
    size_t len;
    char *block;
};

/* *ret: the header at `pos`; NULL: there is no valid one. */
static bool header_at(struct scan *s, int64_t pos, const char **ret, struct err *err)
{
    *ret = NULL;
    if (pos + HEADER > s->size)
        return true;
    if (pos < s->at || pos + HEADER > s->at + (int64_t)s->len) {
        s->len = s->size - pos < ZERO_BLOCK ? (size_t)(s->size - pos) : ZERO_BLOCK;
        s->at = pos;
        if (!file_read_at(s->fd, s->block, s->len, pos, err))
            return err_context(err, "payload segment %lld", (long long)s->seg);
    }
    const char *h = s->block + (pos - s->at);

    *ret = header_is_valid(h, s->seg) ? h : NULL;
    return true;
}

static bool scan_all(struct scan *s, void (*found)(void *arg, const struct segment_entry *e),
                     void *arg, bool *ret_whole, struct err *err)
{
    bool gap = false;
    const char *h;

    *ret_whole = true;
    for (int64_t pos = 0; pos + HEADER <= s->size;) {
        if (!header_at(s, pos, &h, err))
            return false;
        if (h == NULL) {
            gap = true;
            pos += 8;
            continue;
        }
        struct segment_entry e = { .pos = pos, .bytes = entry_size(get_u64(h + 16)) };

        memcpy(e.id.bytes, h + 32, sizeof e.id.bytes);
        *ret_whole = *ret_whole && !gap;
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

    file_name(seg, name);
    AUTO_FD fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, errno == ENOENT ? ERR_PERMANENT : ERR_TRANSIENT, errno,
                       "payload segment %s: %s", name, strerror(errno));
    AUTO_TEXT block = xmalloc(ZERO_BLOCK);

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
    file_name(seg, name);
    if (fstatat(dirfd, name, &st, 0) == 0)
        *ret_bytes = (int64_t)st.st_blocks * 512;
    if (unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
        return err_set(err, ERR_TRANSIENT, errno, "unlink payload segment %s: %s", name,
                       strerror(errno));
    file_sync_dir(dirfd, "payload folder");
    return true;
}
