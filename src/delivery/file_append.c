#include "delivery/file_append.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/require.h"
#include "base/safe_path.h"
#include "base/wait.h"

enum { LOCK_WAIT_US = 10 * CLOCK_S, LOCK_STEP_US = 5 * CLOCK_MS, PIECE = 64 << 10 };

#define JOURNAL_END ".waybill"

enum append_state {
    APPEND_BEGUN,    /* journalled; the outcome must be checked */
    APPEND_COMPLETE, /* its bytes are, or were, in the target */
    APPEND_CUT,      /* none of its bytes are in the target */
    APPEND_UNCLEAR,  /* the outcome is unknown */
    APPEND_TOLD      /* unknown, and reported to its delivery */
};

struct record {
    uint8_t delivery[16], digest[16];
    uint64_t ino;
    int64_t offset, length;
    uint8_t check[7], state;
};

enum { RECORD = 64, CHECKED = offsetof(struct record, check) };
_Static_assert(sizeof(struct record) == RECORD, "a record has no gaps");

struct journal {
    int dirfd, fd;
    char name[SAFE_NAME_MOST + 1];
    struct record *records;
    size_t count;
    struct call *call;
};

struct target {
    const char *name;
    int fd;
    uint64_t ino;
    int64_t size;
};

/* ---- names ---- */

static void hex(const uint8_t bytes[static 16], char to[static 33])
{
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

static void staged_name(const uint8_t delivery[static 16], char ret[static STAGED_NAME])
{
    char text[33];

    hex(delivery, text);
    (void)snprintf(ret, STAGED_NAME, ".%s.part", text);
}

void file_append_staged_name(struct str delivery, char ret[static STAGED_NAME])
{
    struct sha256 sha = digest_of(delivery);

    staged_name(sha.bytes, ret);
}

bool file_append_is_journal(struct str name)
{
    struct str end = STR(JOURNAL_END);

    return name.len > end.len + 1 && name.ptr[0] == '.' &&
           str_eq(str_from(name, name.len - end.len), end);
}

/* For a sync before the append: nothing was added, so a failure is transient. */
static bool sync_or_retry(int fd, const char *what, struct err *err)
{
    if (file_try_sync(fd, what, err))
        return true;
    err->kind = ERR_TRANSIENT;
    return false;
}

/* ---- the journal ---- */

/* Threads of one process take turns here; flock() on the journal orders processes.  A turn is for
 * one file: a thread that hangs with it stops nobody who writes another. */
struct turn {
    struct turn *next;
    dev_t dev;
    ino_t ino; /* of the folder */
    const char *name;
};

static pthread_mutex_t turns_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turns_changed = PTHREAD_COND_INITIALIZER;
static struct turn *turns;

static bool turn_is_taken(const struct turn *t)
{
    const struct turn *other = turns;

    while (other != NULL &&
           (other->dev != t->dev || other->ino != t->ino || !str_is(str_of(other->name), t->name)))
        other = other->next;
    return other != NULL;
}

static bool turn_take(struct turn *t, int dirfd, const char *name, const struct call *c,
                      struct err *err)
{
    int64_t until_us = clock_mono_us() + LOCK_WAIT_US;
    struct stat st;

    if (fstat(dirfd, &st) < 0)
        return err_set(err, file_err_kind(errno), errno, "folder of %.100s: %s", name,
                       strerror(errno));
    *t = (struct turn){ .dev = st.st_dev, .ino = st.st_ino, .name = name };
    (void)pthread_mutex_lock(&turns_mutex);
    while (turn_is_taken(t) && !call_is_over(c) && clock_mono_us() < until_us)
        (void)wait_until(&turns_changed, &turns_mutex, clock_mono_us() + LOCK_STEP_US);
    bool taken = turn_is_taken(t);

    if (!taken) {
        t->next = turns;
        turns = t;
    }
    (void)pthread_mutex_unlock(&turns_mutex);
    return !taken || err_set(err, ERR_TRANSIENT, EBUSY, "another thread is adding to the file");
}

static void turn_end(const struct turn *t)
{
    struct turn **at = &turns;

    (void)pthread_mutex_lock(&turns_mutex);
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    (void)pthread_cond_broadcast(&turns_changed);
    (void)pthread_mutex_unlock(&turns_mutex);
}

static void file_append_seal(struct record *r)
{
    struct sha256 sha = digest_of(str_mem(r, CHECKED));

    memcpy(r->check, sha.bytes, sizeof r->check);
}

static bool is_sealed(const struct record *r)
{
    struct record again = *r;

    file_append_seal(&again);
    return memcmp(again.check, r->check, sizeof r->check) == 0;
}

static void journal_done(struct journal *j)
{
    free(j->records);
    if (j->fd >= 0)
        (void)close(j->fd); /* also releases the lock */
    *j = (struct journal){ .fd = -1 };
}

static bool wait_for_lock(int fd, const struct call *c, struct err *err)
{
    int64_t until_us = clock_mono_us() + LOCK_WAIT_US;

    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return true; /* no locks on this file system: one node writes there */
        if (call_is_over(c) || clock_mono_us() > until_us)
            return err_set(err, ERR_TRANSIENT, EBUSY, "another process is adding to the file");
        clock_sleep_us(LOCK_STEP_US);
    }
    return true;
}

/* compact() may have replaced the journal while we waited for the lock. */
static bool still_named(int dirfd, const char *name, int fd)
{
    struct stat here, there;

    return fstat(fd, &here) == 0 && fstatat(dirfd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

static bool open_locked(struct journal *j, const struct call *c, struct err *err)
{
    for (;;) {
        struct stat st;

        j->fd = file_open_beneath(j->dirfd, j->name, O_RDWR | O_CREAT | O_NONBLOCK, 0600);
        if (j->fd < 0 || fstat(j->fd, &st) < 0)
            return err_set(err, file_err_kind(errno), errno, "open %.100s: %s", j->name,
                           strerror(errno));
        if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
            return err_set(err, ERR_TRANSIENT, EEXIST, "%.100s is not a journal of ours", j->name);
        if (!wait_for_lock(j->fd, c, err))
            return false;
        if (still_named(j->dirfd, j->name, j->fd))
            return true;
        (void)close(j->fd);
        j->fd = -1;
    }
}

/* Loads the journal.  A torn last record is cut off: none of its bytes were added (1). */
static bool file_append_load(struct journal *j, struct err *err)
{
    struct stat st;

    if (fstat(j->fd, &st) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "%.100s: %s", j->name, strerror(errno));
    if (st.st_size > (off_t)(JOURNAL_MOST + 1) * RECORD)
        return err_set(err, ERR_UNCERTAIN, 0, "%.100s is not a journal of ours", j->name);
    j->count = (size_t)st.st_size / RECORD;
    j->records = xcalloc(j->count + 1, RECORD); /* one more for the new record */
    if (!file_read_at(j->fd, j->records, j->count * RECORD, 0, err))
        return err_context(err, "%.100s", j->name);
    if (j->count > 0 && !is_sealed(&j->records[j->count - 1])) {
        j->count--;
        if (j->count > 0 && !is_sealed(&j->records[j->count - 1]))
            return err_set(err, ERR_UNCERTAIN, 0,
                           "%.100s is damaged; remove it when its file is as it should be",
                           j->name);
    }
    if ((off_t)j->count * RECORD != st.st_size && ftruncate(j->fd, (off_t)j->count * RECORD) < 0)
        return err_set(err, file_err_kind(errno), errno, "cut %.100s: %s", j->name,
                       strerror(errno));
    return true;
}

static bool journal_open(struct journal *j, int dirfd, const char *name, struct call *c,
                         struct err *err)
{
    *j = (struct journal){ .dirfd = dirfd, .fd = -1, .call = c };
    (void)snprintf(j->name, sizeof j->name, "%s", name);
    if (!open_locked(j, c, err) || !file_append_load(j, err))
        return false;
    return j->count > 0 || sync_or_retry(dirfd, j->name, err);
}

/* Written in place, not synced: after a power cut the state is determined again. */
static void note_state(struct journal *j, size_t at, enum append_state state)
{
    uint8_t byte = (uint8_t)state;
    struct err err;

    j->records[at].state = byte;
    (void)file_write_at(j->fd, str_mem(&byte, 1),
                        (int64_t)(at * RECORD + offsetof(struct record, state)), &err);
}

/* Drops old records.  The new journal is locked before it gets the name. */
static bool compact(struct journal *j, struct err *err)
{
    char temp[STAGED_NAME];
    size_t drop = j->count - JOURNAL_KEEP;

    file_append_staged_name(str_of(j->name), temp);
    (void)unlinkat(j->dirfd, temp, 0);
    int fd = file_open_beneath(j->dirfd, temp, O_RDWR | O_CREAT | O_EXCL, 0600);

    if (fd < 0)
        return err_set(err, file_err_kind(errno), errno, "create %s: %s", temp, strerror(errno));
    memmove(j->records, j->records + drop, JOURNAL_KEEP * RECORD);
    j->count = JOURNAL_KEEP;
    (void)flock(fd, LOCK_EX | LOCK_NB);
    if (!file_write_all(fd, str_mem(j->records, j->count * RECORD), err) ||
        !sync_or_retry(fd, temp, err) || !file_rename_over(j->dirfd, temp, j->name, err)) {
        (void)unlinkat(j->dirfd, temp, 0);
        (void)close(fd);
        return false;
    }
    (void)close(j->fd);
    j->fd = fd;
    return sync_or_retry(j->dirfd, j->name, err);
}

/* Journals a new append; synced before any byte is added (1). */
static bool note_begin(struct journal *j, struct record r, struct err *err)
{
    if (j->count >= JOURNAL_MOST && !compact(j, err))
        return false;
    file_append_seal(&r);
    if (!file_write_at(j->fd, str_mem(&r, RECORD), (int64_t)(j->count * RECORD), err) ||
        !sync_or_retry(j->fd, j->name, err)) {
        (void)!ftruncate(j->fd, (off_t)(j->count * RECORD));
        return false;
    }
    j->records[j->count++] = r;
    return true;
}

/* The newest record of a delivery, or -1. */
static ptrdiff_t file_append_find(const struct journal *j, const uint8_t delivery[static 16])
{
    for (size_t i = j->count; i-- > 0;)
        if (memcmp(j->records[i].delivery, delivery, 16) == 0)
            return (ptrdiff_t)i;
    return -1;
}

/* ---- the target ---- */

static bool target_open(struct target *t, int dirfd, const char *name, mode_t mode, bool make,
                        struct err *err)
{
    int flags = O_RDWR | O_APPEND | O_NONBLOCK;
    struct stat st;

    *t = (struct target){ .name = name, .fd = file_open_beneath(dirfd, name, flags, 0) };
    if (t->fd < 0 && errno == ENOENT && make) {
        t->fd = file_open_beneath(dirfd, name, flags | O_CREAT, 0600);
        if (t->fd >= 0 && !sync_or_retry(dirfd, name, err))
            return false;
        if (t->fd >= 0)
            (void)fchmod(t->fd, mode);
    }
    if (t->fd < 0 || fstat(t->fd, &st) < 0)
        return err_set(err, file_err_kind(errno), errno, "open %.100s: %s", name, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_TRANSIENT, EEXIST, "%.100s is there and is no plain file", name);
    t->ino = st.st_ino;
    t->size = st.st_size;
    return true;
}

static void target_done(struct target *t)
{
    if (t->fd >= 0)
        (void)close(t->fd);
}

static bool target_measure(struct target *t, struct err *err)
{
    struct stat st;

    if (fstat(t->fd, &st) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "%.100s: %s", t->name, strerror(errno));
    t->size = st.st_size;
    return true;
}

static bool file_append_digest_range(int fd, int64_t offset, int64_t length, struct sha256 *ret,
                                     struct err *err)
{
    struct digest d = digest_start();
    char piece[PIECE];

    while (length > 0) {
        size_t n = length < PIECE ? (size_t)length : PIECE;

        if (!file_read_at(fd, piece, n, offset, err)) {
            digest_drop(&d);
            return false;
        }
        digest_add(&d, str_mem(piece, n));
        offset += (int64_t)n;
        length -= (int64_t)n;
    }
    *ret = digest_end(&d);
    return true;
}

static bool range_is(int fd, int64_t offset, const struct record *r)
{
    struct sha256 sha;
    struct err err;

    return file_append_digest_range(fd, offset, r->length, &sha, &err) &&
           memcmp(sha.bytes, r->digest, sizeof r->digest) == 0;
}

/* Opens the staged bytes of a record; -1: missing or incomplete. */
static int open_staged(int dirfd, const struct record *r)
{
    char name[STAGED_NAME];
    struct stat st;

    staged_name(r->delivery, name);
    int fd = file_open_beneath(dirfd, name, O_RDONLY | O_NONBLOCK, 0);

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == r->length &&
        range_is(fd, 0, r))
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* Whether the target's bytes behind the record's offset are a prefix of the staged bytes. */
static bool tail_is_ours(const struct target *t, int staged, const struct record *r)
{
    int64_t length = t->size - r->offset;
    struct sha256 here, there;
    struct err err;

    if (length < 0 || length > r->length)
        return false;
    return length == 0 ||
           (staged >= 0 && file_append_digest_range(t->fd, r->offset, length, &here, &err) &&
            file_append_digest_range(staged, 0, length, &there, &err) &&
            digest_same(&here, &there));
}

/* Whether every byte that the target has in the range of the record is the staged one, or zero.
 * After a power cut a file may have its new length and not the bytes: the file system shows zeros
 * for each page that it did not write. */
static bool range_is_ours(const struct target *t, int staged, const struct record *r)
{
    int64_t length = t->size - r->offset < r->length ? t->size - r->offset : r->length;
    char here[PIECE], there[PIECE] = { 0 };
    struct err err;

    for (int64_t at = 0; at < length;) {
        size_t n = length - at < PIECE ? (size_t)(length - at) : PIECE;

        if (!file_read_at(t->fd, here, n, r->offset + at, &err) ||
            (staged >= 0 && !file_read_at(staged, there, n, at, &err)))
            return false;
        for (size_t i = 0; i < n; i++)
            if (here[i] != there[i] && here[i] != '\0')
                return false;
        at += (int64_t)n;
    }
    return true;
}

/* Writes the staged bytes over what the target has of the range.  Needs a descriptor of its own:
 * with O_APPEND every write goes to the end. */
static bool fill_range(const struct target *t, int dirfd, int staged, const struct record *r,
                       struct err *err)
{
    int64_t length = t->size - r->offset < r->length ? t->size - r->offset : r->length;
    AUTO_FD fd = file_open_beneath(dirfd, t->name, O_WRONLY | O_NONBLOCK, 0);
    char piece[PIECE];
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_ino != t->ino)
        return err_set(err, ERR_TRANSIENT, EBUSY, "%.100s was replaced meanwhile", t->name);
    for (int64_t at = 0; at < length;) {
        size_t n = length - at < PIECE ? (size_t)(length - at) : PIECE;

        if (!file_read_at(staged, piece, n, at, err) ||
            !file_write_at(fd, str_mem(piece, n), r->offset + at, err))
            return err_context(err, "complete %.100s", t->name);
        at += (int64_t)n;
    }
    return true;
}

/* Appends the staged bytes from `from` on.  O_APPEND: bytes that others wrote meanwhile are not
 * overwritten. */
static bool add_staged(struct target *t, int staged, int64_t from, int64_t length, struct call *c,
                       struct err *err)
{
    char piece[PIECE];

    for (int64_t at = from; at < length;) {
        size_t n = length - at < PIECE ? (size_t)(length - at) : PIECE;

        if (!file_read_at(staged, piece, n, at, err) ||
            !file_write_all(t->fd, str_mem(piece, n), err))
            return err_context(err, "add to %.100s", t->name);
        fault_point(FILE_APPENDING);
        call_alive(c);
        at += (int64_t)n;
    }
    return true;
}

/* ---- outcomes ---- */

/* The outcome of a last record whose bytes are not all there.  Completes the append if possible. */
static bool complete_last(struct journal *j, struct target *t, struct err *err)
{
    size_t at = j->count - 1;
    const struct record *r = &j->records[at];
    int64_t end = r->offset + r->length;
    AUTO_FD staged = open_staged(j->dirfd, r);

    if (!range_is_ours(t, staged, r) || (staged < 0 && t->size > end)) {
        note_state(j, at, APPEND_UNCLEAR);
        return true;
    }
    if (staged < 0) { /* no byte of it was kept, at most their number */
        if (t->size > r->offset && (ftruncate(t->fd, r->offset) < 0 || !target_measure(t, err)))
            return err_set(err, ERR_TRANSIENT, errno, "cut %.100s: %s", t->name, strerror(errno));
        note_state(j, at, APPEND_CUT);
        return true;
    }
    if (!fill_range(t, j->dirfd, staged, r, err) ||
        !add_staged(t, staged, t->size - r->offset, r->length, j->call, err))
        return false;
    if (!sync_or_retry(t->fd, t->name, err) || !target_measure(t, err)) {
        note_state(j, at, APPEND_UNCLEAR);
        return false;
    }
    note_state(j, at, range_is(t->fd, r->offset, r) ? APPEND_COMPLETE : APPEND_UNCLEAR);
    return true;
}

/* Settles a last record without a state. */
static bool settle_last(struct journal *j, struct target *t, struct err *err)
{
    size_t at = j->count - 1;
    const struct record *r = &j->records[at];

    if (r->state != APPEND_BEGUN)
        return true;
    if (r->ino != t->ino || t->size < r->offset) {
        note_state(j, at, APPEND_UNCLEAR);
        return true;
    }
    if (t->size >= r->offset + r->length) { /* perhaps written and not synced */
        if (!sync_or_retry(t->fd, t->name, err)) {
            note_state(j, at, APPEND_UNCLEAR);
            return false;
        }
        if (range_is(t->fd, r->offset, r)) {
            note_state(j, at, APPEND_COMPLETE);
            return true;
        }
    }
    return complete_last(j, t, err);
}

/* The state of a record.  If a power cut lost it, the offset of the next record tells (2). */
static enum append_state file_append_state_of(const struct journal *j, size_t at)
{
    const struct record *r = &j->records[at], *next = r + 1;

    if (r->state != APPEND_BEGUN)
        return (enum append_state)r->state;
    if (at + 1 == j->count || next->ino != r->ino)
        return APPEND_UNCLEAR;
    if (next->offset >= r->offset + r->length)
        return APPEND_COMPLETE;
    return next->offset == r->offset ? APPEND_CUT : APPEND_UNCLEAR;
}

/* ---- append ---- */

/* The append failed half-way: cuts off our bytes, or reports the outcome as unknown. */
static void file_append_take_back(struct journal *j, struct target *t, int staged,
                                  const struct record *r, struct err *err)
{
    struct err more = { 0 };
    bool cut = target_measure(t, &more) && tail_is_ours(t, staged, r) &&
               ftruncate(t->fd, r->offset) == 0 && file_try_sync(t->fd, t->name, &more);

    note_state(j, j->count - 1, cut ? APPEND_CUT : APPEND_TOLD);
    if (!cut)
        err->kind = ERR_UNCERTAIN;
}

static bool append_new(const struct file_append *a, struct journal *j, struct target *t,
                       const uint8_t delivery[static 16], struct err *err)
{
    struct record r = { .ino = t->ino, .offset = t->size, .length = a->size };

    memcpy(r.delivery, delivery, sizeof r.delivery);
    memcpy(r.digest, a->sha256.bytes, sizeof r.digest);
    AUTO_FD staged = open_staged(a->dirfd, &r);

    if (staged < 0)
        return err_set(err, ERR_TRANSIENT, 0, "the staged bytes of %.100s are gone", a->name);
    if (!call_commit(a->call)) /* from the record on, whoever comes next completes it */
        return err_set(err, ERR_TRANSIENT, 0, "the call was given up");
    if (!note_begin(j, r, err))
        return false;
    fault_point(FILE_INTENT);
    if (!add_staged(t, staged, 0, r.length, a->call, err)) {
        file_append_take_back(j, t, staged, &r, err);
        return false;
    }
    fault_point(FILE_APPENDED);
    if (!file_try_sync(t->fd, t->name, err) || !target_measure(t, err)) {
        note_state(j, j->count - 1, APPEND_TOLD);
        err->kind = ERR_UNCERTAIN;
        return false;
    }
    if (t->size != r.offset + r.length && !range_is(t->fd, r.offset, &r)) {
        note_state(j, j->count - 1, APPEND_TOLD);
        return err_set(err, ERR_UNCERTAIN, 0, "somebody else wrote into %.100s at the same time",
                       a->name);
    }
    note_state(j, j->count - 1, APPEND_COMPLETE);
    return true;
}

static bool file_append_append(const struct file_append *a, struct journal *j, struct target *t,
                               struct err *err)
{
    struct sha256 sha = digest_of(a->delivery);
    ptrdiff_t at;

    if (j->count > 0 && !settle_last(j, t, err))
        return false;
    at = file_append_find(j, sha.bytes);
    switch (at < 0 ? APPEND_CUT : file_append_state_of(j, (size_t)at)) {
    case APPEND_COMPLETE:
        return true;
    case APPEND_BEGUN: /* never: see file_append_state_of() */
    case APPEND_UNCLEAR:
        note_state(j, (size_t)at, APPEND_TOLD);
        return err_set(err, ERR_UNCERTAIN, 0,
                       "an append to %.100s was begun and cannot be judged: the file was changed "
                       "by somebody else",
                       a->name);
    case APPEND_CUT:
    case APPEND_TOLD:
        break;
    }
    return append_new(a, j, t, sha.bytes, err);
}

static bool run_locked(const struct file_append *a, const char *journal, struct err *err)
{
    AUTO(journal_done) struct journal j = { .fd = -1 };
    AUTO(target_done) struct target t = { .fd = -1 };
    char staged[STAGED_NAME];

    if (!journal_open(&j, a->dirfd, journal, a->call, err) ||
        !target_open(&t, a->dirfd, a->name, a->mode, true, err) ||
        !file_append_append(a, &j, &t, err))
        return false;
    file_append_staged_name(a->delivery, staged);
    (void)unlinkat(a->dirfd, staged, 0);
    return true;
}

static bool journal_name(const char *name, char ret[static SAFE_NAME_MOST + 1], struct err *err)
{
    return snprintf(ret, SAFE_NAME_MOST + 1, ".%s" JOURNAL_END, name) <= SAFE_NAME_MOST ||
           err_set(err, ERR_PERMANENT, ENAMETOOLONG, "the name is too long for a journal");
}

bool file_append_run(const struct file_append *a, struct err *err)
{
    char journal[SAFE_NAME_MOST + 1];
    struct turn turn;

    if (!journal_name(a->name, journal, err) || !turn_take(&turn, a->dirfd, a->name, a->call, err))
        return false;
    bool ok = run_locked(a, journal, err);

    turn_end(&turn);
    return ok;
}

/* ---- recovery ---- */

static bool recover_locked(int dirfd, const char *journal, const char *name, struct call *c,
                           struct err *err)
{
    AUTO(journal_done) struct journal j = { .fd = -1 };
    AUTO(target_done) struct target t = { .fd = -1 };

    if (!journal_open(&j, dirfd, journal, c, err) || j.count == 0)
        return err->kind == ERR_NONE;
    if (!target_open(&t, dirfd, name, 0, false, err)) {
        if (err->sys != ENOENT)
            return false;
        *err = (struct err){ 0 }; /* the target is gone: the record stays as it is */
        return true;
    }
    return settle_last(&j, &t, err);
}

static bool ask_locked(const struct file_append *a, const char *journal, enum append_known *ret,
                       struct err *err)
{
    AUTO(journal_done) struct journal j = { .fd = -1 };
    struct sha256 sha = digest_of(a->delivery);

    *ret = APPEND_NOT_THERE;
    if (faccessat(a->dirfd, journal, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
        return true;
    if (!recover_locked(a->dirfd, journal, a->name, a->call, err) ||
        !journal_open(&j, a->dirfd, journal, a->call, err))
        return false;
    ptrdiff_t at = file_append_find(&j, sha.bytes);
    enum append_state state = at < 0 ? APPEND_CUT : file_append_state_of(&j, (size_t)at);

    if (state == APPEND_COMPLETE) {
        *ret = APPEND_THERE;
    } else if (state != APPEND_CUT) {
        *ret = APPEND_UNKNOWN;
        note_state(&j, (size_t)at, APPEND_TOLD); /* a send after this adds it again */
    }
    return true;
}

bool file_append_ask(const struct file_append *a, enum append_known *ret, struct err *err)
{
    char journal[SAFE_NAME_MOST + 1];
    struct turn turn;

    if (!journal_name(a->name, journal, err) || !turn_take(&turn, a->dirfd, a->name, a->call, err))
        return false;
    bool ok = ask_locked(a, journal, ret, err);

    turn_end(&turn);
    return ok;
}

bool file_append_recover(int dirfd, const char *journal, struct call *c, struct err *err)
{
    struct str name = str_of(journal);
    char target[SAFE_NAME_MOST + 1];

    require(file_append_is_journal(name));
    (void)snprintf(target, sizeof target, "%.*s", (int)(name.len - strlen(JOURNAL_END) - 1),
                   name.ptr + 1);
    struct turn turn;

    if (!turn_take(&turn, dirfd, target, c, err))
        return false;
    bool ok = recover_locked(dirfd, journal, target, c, err);

    turn_end(&turn);
    return ok;
}
