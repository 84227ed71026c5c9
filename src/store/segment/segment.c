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
 *   (3) Segment numbers only grow, also when the clock goes back or the newest file is lost: the
 *       next number is the newest plus one, or the first of today if that is larger.  The newest
 *       segment is never deleted; the store remembers its number (`used` of segments_open()), so
 *       that a lost file can be put back under its name.
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
 * Start.  Only the newest segment is ever appended to, and only if its entries follow each other
 * up to zeros.  Anything else behind the last of them is a torn tail or a damaged header, and
 * behind a damaged header there may be committed payloads: nothing is written to such a segment
 * any more, the next payload begins a new one.  (To look for the next valid header would not do: a
 * payload may contain one, which its sender made.)
 *
 * Races.  segment_read() runs on any thread, with a descriptor of its own.  Its callers have the
 * place from a committed row, so the entry does not change any more.  A segment that retention
 * unlinks stays readable through open descriptors; a later read gets ENOENT, and its caller looks
 * up the new place in the table `moved` (payload.c).
 *
 * docs/internals/segment.md tells how to inspect a segment.
 */
#include "store/segment/segment.h"

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
#include "store/segment/entry.h"

enum {
    HEADER = ENTRY_HEADER,
    STAGE = 512 << 10, /* bytes of entries that one write gathers */
    ZERO_BLOCK = 1 << 20,
    FILL_PAUSE_US = 5000,
    PER_DAY = 100000,
};

static const char spare_name[] = ".spare";

struct segments {
    int dirfd;
    int64_t bytes; /* the size of a new segment */

    /* Used by the writer thread only. */
    int fd;
    int64_t seg, end;    /* the open segment, and the position of its next entry */
    int64_t room;        /* its size */
    int64_t commit;      /* of the entries that are added */
    int64_t last_commit; /* of the entries that were there at the start */
    int64_t staged_pos;  /* where the stage will be written */
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
    entry_file(next, name);
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

static bool rest_is_zero(struct segments *s, int64_t from, bool *ret, struct err *err)
{
    *ret = true;
    for (int64_t at = from; *ret && at < s->room; at += STAGE) {
        size_t n = s->room - at < STAGE ? (size_t)(s->room - at) : STAGE;

        if (!file_read_at(s->fd, s->stage, n, at, err))
            return false;
        *ret = entry_is_room(s->stage, n);
    }
    return true;
}

/* Sets `end` behind the entries that follow each other, or, if something else than zeros comes
 * behind them, to the end of the file: the next payload begins a new segment. */
static bool segment_find_end(struct segments *s, struct err *err)
{
    char h[HEADER];
    struct entry_header head;
    bool empty = true;

    for (s->end = 0; s->end + ENTRY_HEADER_FIRST <= s->room; s->end += head.size) {
        size_t n = s->room - s->end < HEADER ? (size_t)(s->room - s->end) : HEADER;

        if (!file_read_at(s->fd, h, n, s->end, err))
            return false;
        if (!entry_parse(h, n, s->seg, &head))
            break;
        if (head.commit > s->last_commit)
            s->last_commit = head.commit;
    }
    if (s->end < s->room && !rest_is_zero(s, s->end, &empty, err))
        return false;
    if (s->end > s->room || !empty)
        s->end = s->room;
    return true;
}

static void note_entry(void *arg, const struct segment_entry *e)
{
    int64_t *last = arg;

    if (!e->after_gap && e->commit > *last)
        *last = e->commit;
}

/* The newest segment was just begun, or is lost: the one before it has the newest entries. */
static bool look_before(struct segments *s, struct err *err)
{
    int64_t bytes, before;
    bool whole;

    return segment_below(s->dirfd, s->seg, &before, err) &&
           (before == 0 ||
            segment_scan(s->dirfd, before, note_entry, &s->last_commit, &bytes, &whole, err));
}

/* Opens the newest segment, to append behind its last entry. */
static bool resume(struct segments *s, int64_t used, struct err *err)
{
    char name[32];
    struct stat st;

    if (!segment_below(s->dirfd, INT64_MAX, &s->seg, err))
        return false;
    if (s->seg < used)
        s->seg = used; /* its file is lost; the next one gets a higher number */
    else if (s->seg != 0) {
        entry_file(s->seg, name);
        s->fd = openat(s->dirfd, name, O_RDWR | O_CLOEXEC);
        if (s->fd < 0 || fstat(s->fd, &st) < 0)
            return err_set(err, ERR_CONFIG, errno, "open payload/%s: %s", name, strerror(errno));
        s->room = st.st_size;
        if (!segment_find_end(s, err))
            return false;
    }
    return s->last_commit != 0 || s->seg == 0 || look_before(s, err);
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

bool segments_open(int dirfd, int64_t bytes, int64_t used, struct segments **ret, struct err *err)
{
    struct segments *s = NEW(struct segments);

    s->dirfd = dirfd;
    s->bytes = bytes > 0 ? bytes : default_bytes(dirfd);
    s->fd = -1;
    s->stage = xmalloc(STAGE);
    (void)pthread_mutex_init(&s->mutex, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    if (!resume(s, used, err)) {
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

void segments_begin(struct segments *s, int64_t commit)
{
    s->commit = commit;
}

int64_t segments_last_commit(const struct segments *s)
{
    return s->last_commit;
}

/* What follows the bytes of an entry. */
struct tail {
    struct str record;
    struct payload_ref origin;
    size_t len, pad; /* len: with the check */
};

static struct tail tail_of(const struct segment_payload *p)
{
    struct tail t = { .origin = p->origin };

    if (p->record.len <= SEGMENT_RECORD_MOST)
        t.record = p->record;
    t.len = t.record.len + (t.origin.seg != 0 ? ENTRY_ORIGIN : 0);
    if (t.len > 0)
        t.len += ENTRY_CHECK;
    t.pad = -(HEADER + p->bytes.len + t.len) & 7;
    return t;
}

/* The record, the origin and their check, up to the next multiple of 8, go to `to`. */
static void put_tail(char *to, const struct tail *t, const char header[static HEADER])
{
    char *at = to;

    if (t->record.len > 0)
        memcpy(at, t->record.ptr, t->record.len);
    at += t->record.len;
    if (t->origin.seg != 0) {
        entry_put_u64(at, (uint64_t)t->origin.seg);
        entry_put_u64(at + 8, (uint64_t)t->origin.pos);
        at += ENTRY_ORIGIN;
    }
    if (t->len > 0) {
        entry_put_u64(at,
                      entry_check(entry_get_u64(header + HEADER - 8), to, t->len - ENTRY_CHECK));
        at += ENTRY_CHECK;
    }
    memset(at, 0, t->pad);
}

/* An entry that is larger than the stage, which is empty here. */
static bool write_directly(struct segments *s, const char header[static HEADER], struct str bytes,
                           const struct tail *t, struct err *err)
{
    size_t n = t->len + t->pad;
    AUTO_TEXT tail = xmalloc(n + 1);

    put_tail(tail, t, header);
    if (!file_write_at(s->fd, str_mem(header, HEADER), s->end, err) ||
        !file_write_at(s->fd, bytes, s->end + HEADER, err) ||
        !file_write_at(s->fd, str_mem(tail, n), s->end + HEADER + (int64_t)bytes.len, err))
        return err_context(err, "payload segment %lld", (long long)s->seg);
    s->dirty = true;
    return true;
}

bool segments_add(struct segments *s, const struct segment_payload *p, struct payload_ref *ret,
                  struct err *err)
{
    struct tail tail = tail_of(p);
    int64_t size = (int64_t)(HEADER + p->bytes.len + tail.len + tail.pad);

    require(p->bytes.len <= SEGMENT_PAYLOAD_MOST);
    if (s->fd < 0 || s->end + size > s->room) {
        if (!write_stage(s, err) || !roll(s, err))
            return false;
    }
    if (s->staged + (size_t)size > STAGE && !write_stage(s, err))
        return false;
    char header[HEADER];

    entry_make(header, s->seg, s->commit, p, tail.len);
    *ret = (struct payload_ref){ .seg = s->seg, .pos = s->end };
    if ((size_t)size > STAGE) {
        if (!write_directly(s, header, p->bytes, &tail, err))
            return false;
    } else {
        char *at = s->stage + s->staged;

        if (s->staged == 0)
            s->staged_pos = s->end;
        memcpy(at, header, HEADER);
        if (p->bytes.len > 0)
            memcpy(at + HEADER, p->bytes.ptr, p->bytes.len);
        put_tail(at + HEADER + p->bytes.len, &tail, header);
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

int64_t segments_newest(const struct segments *s)
{
    return s->seg;
}
