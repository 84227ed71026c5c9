/* file_in.c - polls a folder; each file becomes a document.
 *
 *     PATH/NAME  ──►  PATH/.waybill/CLAIM/NAME  ──►  stored  ──►  removed, or moved on
 *
 * With `after: delete` or `move` a file is claimed first: renamed into a work folder with a random
 * name and synced.  It is removed only after its document is stored.  Files that a crash leaves in
 * a work folder are stored again by the next poll, under the same key (work folder, file name and
 * digest): so one claimed file is one document, and another file of the same name and content is
 * another.  Two polls of one folder are harmless: rename lets one of them claim a file, and both
 * give a work folder the same keys.  With `after: keep` files stay as they are; the ledger knows
 * those taken by name, inode, size and time. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/folder_rule.h"
#include "base/glob.h"
#include "base/known_folder.h"
#include "base/safe_path.h"
#include "core/connector.h"
#include "core/deposit.h"
#include "core/grammar.h"
#include "core/sighting.h"

#define WORK FOLDER_WORK

enum {
    CLAIMS_MOST = 64, /* files claimed with one sync */
    CLAIM_NAME = 17,
    KEY_MOST = 512,
    PIECE = 64 << 10,
    KNOWN = 1 << 15, /* cache of kept files that the ledger knows */
    WAIT_MOST_US = 10 * CLOCK_S
};

enum after { AFTER_KEEP, AFTER_DELETE, AFTER_MOVE };

struct known {
    uint8_t key[16];
};

struct file_in {
    struct known_folder folder, moved;
    enum after after;
    const struct str *match;
    size_t match_count;
    struct str marker;
    int64_t every_us, min_age_us;
    struct sightings sightings;
    struct known *known; /* for `after: keep` */
    int64_t known_since_us;
};

struct look {
    struct file_in *self;
    const struct deposit_port *port;
    void *deposit;
    int dir, work, moved;
    int64_t taken;
    bool unripe;  /* a file only has to be seen once more */
    bool crowded; /* too many files wait to be remembered */
};

static void close_all(struct look *l)
{
    const int fds[] = { l->dir, l->work, l->moved };

    for (size_t i = 0; i < 3; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
}

static bool file_in_is_over(const struct look *l)
{
    return l->taken >= DEPOSIT_LOOK_MOST || l->port->stopping(l->deposit);
}

static void file_in_complain(const struct look *l, const char *name, const char *why,
                             const char *hint)
{
    l->port->complain(l->deposit, str_of(name), why, hint);
}

static bool file_in_fail(struct err *err, const char *what, const char *name)
{
    return err_set(err, file_err_kind(errno), errno, "%s %.100s: %s", what, name, strerror(errno));
}

/* *ret is NULL at the end.  An error must not look like the end: hidden files have not vanished. */
static bool next_entry(DIR *dir, const char *name, const struct dirent **ret, struct err *err)
{
    errno = 0;
    *ret = readdir(dir);
    return *ret != NULL || errno == 0 || file_in_fail(err, "read", name);
}

static bool ends(struct str s, struct str end)
{
    return s.len > end.len && str_eq(str_from(s, s.len - end.len), end);
}

/* ---- one file ---- */

static int64_t change_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static bool file_in_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && change_ns(a) == change_ns(b);
}

enum taking {
    TAKEN,   /* stored */
    CHANGED, /* being written: try later */
    REFUSED, /* refused, and logged */
    FAILED   /* nothing can be stored now: err says why */
};

static bool may_be_taken(const struct look *l, const char *name, const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        file_in_complain(l, name,
                         S_ISLNK(st->st_mode) ? "it is a symbolic link" : "it is no plain file",
                         "Only plain files are taken. Remove it, or put a copy in its place.");
    else if (st->st_nlink != 1)
        file_in_complain(
            l, name, "it has a second name (a hard link)",
            "Only files with one name are taken. Remove it, or put a copy in its place.");
    else if (st->st_size > l->port->size_most(l->deposit))
        file_in_complain(l, name, "it is larger than limits.size of the gateway",
                         "Raise limits.size, or remove it.");
    else
        return true;
    return false;
}

static bool file_in_copy(const struct look *l, int fd, struct deposit *d, struct sha256 *ret_sha,
                         struct err *err)
{
    struct digest digest = digest_start();
    char piece[PIECE];
    ssize_t n;

    while ((n = read(fd, piece, sizeof piece)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            digest_drop(&digest);
            return err_set(err, ERR_PERMANENT, errno, "read: %s", strerror(errno));
        }
        digest_add(&digest, str_mem(piece, (size_t)n));
        if (!l->port->put(d, str_mem(piece, (size_t)n), err)) {
            digest_drop(&digest);
            return false;
        }
    }
    *ret_sha = digest_end(&digest);
    return true;
}

static enum taking file_in_refuse(const struct look *l, const char *name, const struct err *err)
{
    if (err->kind != ERR_PERMANENT)
        return FAILED;
    file_in_complain(l, name, err->text, "It stays where it is and is tried again at every look.");
    return REFUSED;
}

/* `source` identifies the file for ever; with the digest it is the key. */
static enum taking store(const struct look *l, int fd, const char *name, struct str source,
                         struct stat *st, struct err *err)
{
    AUTO(buf_done) struct buf key = BUF_INIT(KEY_MOST);
    char text[SHA256_TEXT];
    struct deposit *d;
    struct stat after;
    struct sha256 sha;
    struct id id;
    bool repeated;

    if (!l->port->open(l->deposit, str_of(name), STR(""), &d, err))
        return file_in_refuse(l, name, err);
    if (!file_in_copy(l, fd, d, &sha, err)) {
        l->port->abandon(d);
        return file_in_refuse(l, name, err);
    }
    if (fstat(fd, &after) < 0 || !file_in_is_same(st, &after)) {
        l->port->abandon(d);
        return CHANGED;
    }
    fault_point_on(FILE_READ, str_of(name));
    buf_put(&key, source);
    buf_printf(&key, "\n%s", digest_text(&sha, text));
    if (!l->port->commit(d, buf_view(&key), &id, &repeated, err))
        return file_in_refuse(l, name, err);
    fault_point(FILE_TAKEN);
    return TAKEN;
}

/* A file that changed or was refused does not stop the poll; a failure of ours does. */
static bool may_go_on(enum taking end, struct err *err)
{
    if (end != FAILED)
        *err = (struct err){ 0 };
    return end != FAILED;
}

/* ---- the work folder ---- */

static void put_back(const struct look *l, int claim, const char *name)
{
    struct err err;

    (void)file_rename_new(claim, name, l->dir, name, &err); /* else it stays in the work folder */
}

static bool move_on(const struct look *l, int claim, const char *claim_name, const char *name,
                    struct err *err)
{
    char other[SAFE_NAME_MOST + CLAIM_NAME + 2];

    if (file_rename_new(claim, name, l->moved, name, err))
        return true;
    if (err->sys != EEXIST)
        return false;
    *err = (struct err){ 0 }; /* the name is taken: keep both files */
    if (snprintf(other, sizeof other, "%s.%s", name, claim_name) > SAFE_NAME_MOST)
        (void)snprintf(other, sizeof other, "%.200s.%s", name, claim_name);
    return file_rename_new(claim, name, l->moved, other, err);
}

/* The document is stored: removes its file, unless that was written to since. */
static bool file_in_finish(const struct look *l, int fd, int claim, const char *claim_name,
                           const char *name, const struct stat *st, struct err *err)
{
    struct stat now;

    if (fstat(fd, &now) == 0 && !file_in_is_same(st, &now)) {
        file_in_complain(
            l, name, "it was changed after it had been taken",
            "It is taken again as another document. Write under a name that ends in .part, "
            "and rename when it is whole.");
        put_back(l, claim, name);
        return true;
    }
    bool ok = l->self->after == AFTER_MOVE
                  ? move_on(l, claim, claim_name, name, err)
                  : unlinkat(claim, name, 0) == 0 || file_in_fail(err, "remove", name);

    if (!ok && err->sys == ENOENT) { /* another poll was faster */
        *err = (struct err){ 0 };
        ok = true;
    }
    return ok;
}

static void drop_marker(const struct look *l, int claim, const char *name)
{
    char marker[SAFE_NAME_MOST + 1];

    if (l->self->marker.len > 0 && snprintf(marker, sizeof marker, "%s%.*s", name,
                                            STR_ARG(l->self->marker)) < (int)sizeof marker)
        (void)unlinkat(claim, marker, 0);
}

static bool file_in_take_claimed(struct look *l, int claim, const char *claim_name,
                                 const char *name, struct err *err)
{
    AUTO_FD fd = file_open_beneath(claim, name, O_RDONLY | O_NONBLOCK, 0);
    char source[CLAIM_NAME + SAFE_NAME_MOST + 2];
    struct stat st;

    if ((fd < 0 ? fstatat(claim, name, &st, AT_SYMLINK_NOFOLLOW) : fstat(fd, &st)) < 0)
        return errno == ENOENT || file_in_fail(err, "open", name);
    if (!may_be_taken(l, name, &st)) {
        put_back(l, claim, name);
        return true;
    }
    if (fd < 0) {
        file_in_complain(l, name, "it cannot be read", "Give the node the right to read it.");
        put_back(l, claim, name);
        return true;
    }
    (void)snprintf(source, sizeof source, "%s\n%s", claim_name, name);
    enum taking end = store(l, fd, name, str_of(source), &st, err);

    if (end != TAKEN)
        return may_go_on(end, err);
    l->taken++;
    if (!file_in_finish(l, fd, claim, claim_name, name, &st, err))
        return false;
    drop_marker(l, claim, name);
    return true;
}

/* A crash came between marker and file: the file was complete, so claim it too. */
static void fetch_marked(const struct look *l, int claim, struct str marker)
{
    struct str end = l->self->marker;
    char name[SAFE_NAME_MOST + 1];
    struct err err = { 0 };

    (void)snprintf(name, sizeof name, "%.*s", (int)(marker.len - end.len), marker.ptr);
    if (faccessat(claim, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
        file_rename_new(l->dir, name, claim, name, &err))
        return;
    if (err.sys == ENOENT)
        drop_marker(l, claim, name);
}

typedef bool claim_found(struct look *l, int claim, const char *claim_name, const char *name,
                         struct err *err);

static bool found_marker(struct look *l, int claim, const char *claim_name, const char *name,
                         struct err *err)
{
    (void)claim_name;
    (void)err;
    if (ends(str_of(name), l->self->marker))
        fetch_marked(l, claim, str_of(name));
    return true;
}

static bool found_file(struct look *l, int claim, const char *claim_name, const char *name,
                       struct err *err)
{
    if (l->self->marker.len > 0 && ends(str_of(name), l->self->marker))
        return true;
    return file_in_take_claimed(l, claim, claim_name, name, err);
}

static bool each_claimed(struct look *l, const char *claim_name, claim_found *found,
                         struct err *err)
{
    int fd = file_open_beneath(l->work, claim_name, O_RDONLY | O_DIRECTORY, 0);
    DIR *claim = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    bool ok = true;

    if (claim == NULL)
        return errno == ENOENT || file_in_fail(err, "open", claim_name);
    while (ok && !file_in_is_over(l) && (ok = next_entry(claim, claim_name, &e, err)) && e != NULL)
        if (!str_is(str_of(e->d_name), ".") && !str_is(str_of(e->d_name), ".."))
            ok = found(l, fd, claim_name, e->d_name, err);
    (void)closedir(claim);
    return ok;
}

static bool take_claim(struct look *l, const char *claim_name, struct err *err)
{
    if ((l->self->marker.len > 0 && !each_claimed(l, claim_name, found_marker, err)) ||
        !each_claimed(l, claim_name, found_file, err))
        return false;
    (void)unlinkat(l->work, claim_name, AT_REMOVEDIR); /* fails while files are left in it */
    return true;
}

static bool is_claim_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++)
        if (strchr("0123456789abcdef", name.ptr[i]) == NULL)
            return false;
    return name.len == CLAIM_NAME - 1;
}

/* Files that a crash or a failure left in work folders come first. */
static bool take_left(struct look *l, struct err *err)
{
    int fd = file_open_beneath(l->work, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *work = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    bool ok = true;

    if (work == NULL)
        return file_in_fail(err, "open", WORK);
    while (ok && !file_in_is_over(l) && (ok = next_entry(work, WORK, &e, err)) && e != NULL)
        if (is_claim_name(str_of(e->d_name)))
            ok = take_claim(l, e->d_name, err);
    (void)closedir(work);
    return ok;
}

/* ---- the folder ---- */

static bool file_in_is_wanted(const struct file_in *self, struct str name)
{
    if (name.ptr[0] == '.' || ends(name, STR(".part")) || ends(name, STR(".tmp")) ||
        (self->marker.len > 0 && ends(name, self->marker)))
        return false;
    for (size_t i = 0; i < self->match_count; i++)
        if (glob_match(self->match[i], name))
            return true;
    return false;
}

static bool has_marker(const struct look *l, const char *name)
{
    char marker[SAFE_NAME_MOST + 1];
    struct stat st;

    return snprintf(marker, sizeof marker, "%s%.*s", name, STR_ARG(l->self->marker)) <
               (int)sizeof marker &&
           fstatat(l->dir, marker, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static bool was_met(const struct look *l, const char *name, const struct stat *st)
{
    return sightings_has(&l->self->sightings, str_of(name), st->st_ino, st->st_size, change_ns(st));
}

/* Whether the file is unchanged for min_age.  It is remembered, so ask only for files to take. */
static bool is_ripe(struct look *l, const char *name, const struct stat *st)
{
    struct file_in *self = l->self;

    if (self->marker.len > 0 || self->min_age_us == 0)
        return true;
    int64_t age_us = sightings_age_us(&self->sightings, str_of(name), st->st_ino, st->st_size,
                                      change_ns(st), clock_mono_us());

    l->unripe = l->unripe || age_us < self->min_age_us;
    l->crowded = l->crowded || age_us < 0;
    return age_us >= self->min_age_us;
}

/* Whether the file may be taken once it is ripe; *ret is its status. */
static bool consider(struct look *l, const struct dirent *e, struct stat *ret)
{
    struct str name = str_of(e->d_name);
    struct err err = { 0 };

    if (e->d_type == DT_DIR || !file_in_is_wanted(l->self, name))
        return false;
    if (fstatat(l->dir, e->d_name, ret, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(ret->st_mode) ||
        (l->self->marker.len > 0 && !has_marker(l, e->d_name)))
        return false;
    if (!safe_name(name, &err)) {
        file_in_complain(l, e->d_name, err.text, "Rename it.");
        return false;
    }
    if (!may_be_taken(l, e->d_name, ret))
        return false;
    if (faccessat(l->dir, e->d_name, R_OK, AT_EACCESS) < 0 && errno == EACCES) {
        file_in_complain(l, e->d_name, "it cannot be read", "Give the node the right to read it.");
        return false;
    }
    return true;
}

/* ---- delete and move: claim, then take ---- */

static bool claim_file(const struct look *l, int claim, const char *name, bool *ret_claimed,
                       struct err *err)
{
    char marker[SAFE_NAME_MOST + 1];

    *ret_claimed = false;
    if (l->self->marker.len > 0) {
        if (snprintf(marker, sizeof marker, "%s%.*s", name, STR_ARG(l->self->marker)) >=
            (int)sizeof marker)
            return true; /* no marker can have that name */
        if (!file_rename_new(l->dir, marker, claim, marker, err))
            return err->sys == ENOENT;
    }
    *ret_claimed = file_rename_new(l->dir, name, claim, name, err);
    if (*ret_claimed || err->sys == ENOENT) { /* gone: somebody else took it */
        fault_point(FILE_CLAIMED);
        return true;
    }
    return false;
}

/* Claims up to CLAIMS_MOST files into a work folder of their own, durably. */
static bool claim_some(struct look *l, DIR *dir, const char *claim_name, size_t *ret_count,
                       struct err *err)
{
    AUTO_FD claim = -1;
    const struct dirent *e;
    struct stat st;

    *ret_count = 0;
    while (*ret_count < CLAIMS_MOST && l->taken + (int64_t)*ret_count < DEPOSIT_LOOK_MOST &&
           !l->port->stopping(l->deposit)) {
        bool claimed;

        if (!next_entry(dir, l->self->folder.path, &e, err))
            return false; /* the next poll finds what was claimed */
        if (e == NULL)
            break;
        if (!consider(l, e, &st) || !is_ripe(l, e->d_name, &st))
            continue;
        if (claim < 0) {
            if (mkdirat(l->work, claim_name, 0700) < 0)
                return file_in_fail(err, "make", claim_name);
            claim = file_open_beneath(l->work, claim_name, O_RDONLY | O_DIRECTORY, 0);
            if (claim < 0)
                return file_in_fail(err, "open", claim_name);
        }
        if (!claim_file(l, claim, e->d_name, &claimed, err))
            return false;
        *err = (struct err){ 0 };
        *ret_count += claimed;
    }
    return claim < 0 || (file_try_sync(claim, claim_name, err) &&
                         file_try_sync(l->work, WORK, err) && file_try_sync(l->dir, "folder", err));
}

static void make_claim_name(char name[static CLAIM_NAME])
{
    (void)snprintf(name, CLAIM_NAME, "%016llx", (unsigned long long)chance_u64());
}

static bool take_stream(struct look *l, DIR *dir, struct err *err)
{
    for (;;) {
        char claim_name[CLAIM_NAME];
        size_t count;

        make_claim_name(claim_name);
        if (!claim_some(l, dir, claim_name, &count, err) || !take_claim(l, claim_name, err))
            return false;
        if (count < CLAIMS_MOST || file_in_is_over(l))
            return true;
    }
}

/* ---- keep: take, and remember ---- */

static struct known *known_place(struct file_in *self, const struct sha256 *key)
{
    uint64_t at;

    if (self->known == NULL)
        self->known = xcalloc(KNOWN, sizeof *self->known);
    if (clock_mono_us() - self->known_since_us > DEPOSIT_KNOWN_US) { /* ask the ledger again */
        memset(self->known, 0, KNOWN * sizeof *self->known);
        self->known_since_us = clock_mono_us();
    }
    memcpy(&at, key->bytes + 16, sizeof at);
    return &self->known[at % KNOWN];
}

static bool take_kept(struct look *l, const char *name, struct stat *st, struct str source,
                      struct err *err)
{
    AUTO_FD fd = file_open_beneath(l->dir, name, O_RDONLY | O_NONBLOCK, 0);
    struct stat now;

    if (fd < 0 || fstat(fd, &now) < 0 || !file_in_is_same(st, &now) || !S_ISREG(now.st_mode))
        return true; /* it is changing: next time */
    enum taking end = store(l, fd, name, source, &now, err);

    if (end != TAKEN)
        return may_go_on(end, err);
    l->taken++;
    return l->port->note_seen(l->deposit, source, err);
}

/* Queries the ledger when a file is new and when it is ripe, not at every poll between. */
static bool look_at_kept(struct look *l, const char *name, struct stat *st, struct err *err)
{
    char source[SAFE_NAME_MOST + 80];
    bool seen = true;

    (void)snprintf(source, sizeof source, "%llu %lld %lld\n%s", (unsigned long long)st->st_ino,
                   (long long)st->st_size, (long long)change_ns(st), name);
    struct sha256 key = digest_of(str_of(source));
    struct known *k = known_place(l->self, &key);

    if (memcmp(k->key, key.bytes, sizeof k->key) == 0)
        return true;
    if (was_met(l, name, st) && !is_ripe(l, name, st))
        return true;
    if (!l->port->seen(l->deposit, str_of(source), &seen, err))
        return false;
    if (!seen)
        return !is_ripe(l, name, st) || take_kept(l, name, st, str_of(source), err);
    memcpy(k->key, key.bytes, sizeof k->key);
    return true;
}

static bool keep_stream(struct look *l, DIR *dir, struct err *err)
{
    const struct dirent *e;
    struct stat st;
    bool ok = true;

    while (ok && !file_in_is_over(l) && (ok = next_entry(dir, l->self->folder.path, &e, err)) &&
           e != NULL)
        ok = !consider(l, e, &st) || look_at_kept(l, e->d_name, &st, err);
    return ok;
}

/* ---- the poll ---- */

static bool open_work(int dir, int *ret_fd, struct err *err)
{
    struct stat here, there;

    if (mkdirat(dir, WORK, 0700) < 0 && errno != EEXIST)
        return file_in_fail(err, "make", WORK);
    int fd = file_open_beneath(dir, WORK, O_RDONLY | O_DIRECTORY, 0);

    if (fd < 0)
        return err_set(err, ERR_CONFIG, errno, "the work folder " WORK ": %s", strerror(errno));
    if (fstat(dir, &here) < 0 || fstat(fd, &there) < 0 || here.st_dev != there.st_dev) {
        (void)close(fd);
        return err_set(err, ERR_CONFIG, EXDEV,
                       "the work folder " WORK " is on another file system than its folder");
    }
    *ret_fd = fd;
    return true;
}

/* False: another poll holds the lock, so nothing is to be done. */
static bool lock_work(int work, int *ret_fd)
{
    int fd = file_open_beneath(work, "lock", O_RDWR | O_CREAT, 0600);

    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        (void)close(fd);
        return false;
    }
    *ret_fd = fd; /* without locks the claims are enough */
    return true;
}

static bool file_in_scan(struct look *l, struct err *err)
{
    int fd = file_open_beneath(l->dir, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (dir == NULL)
        return file_in_fail(err, "read", l->self->folder.path);
    bool ok = l->self->after == AFTER_KEEP ? keep_stream(l, dir, err) : take_stream(l, dir, err);

    (void)closedir(dir);
    if (ok && !file_in_is_over(l)) /* every file was seen */
        sightings_turn(&l->self->sightings);
    return ok;
}

/* When polls are far apart, new files get their second check within this poll. */
static bool wait_to_ripen(const struct look *l)
{
    int64_t wait_us = l->self->min_age_us;

    if (!l->unripe || wait_us > WAIT_MOST_US || l->self->every_us <= 2 * wait_us)
        return false;
    for (; wait_us > 0 && !l->port->stopping(l->deposit); wait_us -= 50 * CLOCK_MS)
        clock_sleep_us(wait_us < 50 * CLOCK_MS ? wait_us : 50 * CLOCK_MS);
    return true;
}

static bool file_in_look_through(struct look *l, struct err *err)
{
    AUTO_FD lock = -1;

    if (l->self->after != AFTER_KEEP) {
        if (!open_work(l->dir, &l->work, err))
            return false;
        if (!lock_work(l->work, &lock))
            return true;
        if (!take_left(l, err))
            return false;
    }
    return file_in_scan(l, err) &&
           (file_in_is_over(l) || !wait_to_ripen(l) || file_in_scan(l, err));
}

static bool look(void *arg, const struct deposit_port *port, void *deposit, int64_t *ret_taken,
                 struct err *err)
{
    struct file_in *self = arg;
    AUTO(close_all)
    struct look l = {
        .self = self, .port = port, .deposit = deposit, .dir = -1, .work = -1, .moved = -1
    };
    bool ok = known_folder_open(&self->folder, &l.dir, err) &&
              (self->after != AFTER_MOVE || known_folder_open(&self->moved, &l.moved, err)) &&
              file_in_look_through(&l, err);

    if (l.crowded)
        file_in_complain(&l, self->folder.path, "more files lie there than can be watched at once",
                         "Those left over wait until others were taken or are gone.");
    *ret_taken = l.taken;
    return ok;
}

/* ---- options ---- */

static const struct option options[] = {
    OPTION("path", OPT_PATH,
           "the folder to look in; names that begin with a dot or end in .part or .tmp are never "
           "taken, so that senders can write and then rename",
           .flags = OPT_REQUIRED | OPT_FOLDER),
    OPTIONS(grammar_mounted),
    OPTIONS(grammar_every),
    OPTIONS(grammar_silence),
    OPTIONS(grammar_files),
    OPTION("marker", OPT_TEXT,
           "take a file NAME when a file NAME and this ending is there, such as `.ok`, instead of "
           "waiting for `min_age`"),
    { 0 },
};

static bool read_after(struct file_in *self, const struct settings *s, struct err *err)
{
    const struct yaml_node *node = yaml_get(s->node, "after");
    struct str word;

    if (node != NULL && node->kind == YAML_MAP) {
        struct settings below = settings_below(s, "after");

        self->after = AFTER_MOVE;
        return settings_folder(&below, "move", &self->moved, err) &&
               known_folder_meet(&self->moved, err);
    }
    if (!settings_text(s, "after", &word, err))
        return false;
    self->after = str_is(word, "delete") ? AFTER_DELETE : AFTER_KEEP;
    return true;
}

static bool on_one_file_system(struct file_in *self, struct err *err)
{
    AUTO_FD dir = -1;
    AUTO_FD work = -1;
    AUTO_FD moved = -1;
    struct stat here, there;

    if (self->after == AFTER_KEEP)
        return true;
    if (!known_folder_open(&self->folder, &dir, err) || !open_work(dir, &work, err))
        return false;
    if (self->after != AFTER_MOVE)
        return true;
    if (!known_folder_open(&self->moved, &moved, err))
        return false;
    if (fstat(dir, &here) < 0 || fstat(moved, &there) < 0 || here.st_dev != there.st_dev)
        return err_set(err, ERR_CONFIG, EXDEV,
                       "the folder of `after: move` is on another file system");
    if (here.st_ino == there.st_ino)
        return err_set(err, ERR_CONFIG, 0, "the folder of `after: move` is the one to look in");
    return true;
}

static void unmake(void *arg)
{
    struct file_in *self = arg;

    sightings_done(&self->sightings);
    free(self->known);
    self->known = NULL;
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct file_in *self = ARENA_NEW(s->arena, struct file_in);

    if (!settings_folder(s, "path", &self->folder, err) ||
        !settings_duration(s, "every", &self->every_us, err) ||
        !settings_duration(s, "min_age", &self->min_age_us, err) ||
        !settings_text(s, "marker", &self->marker, err) ||
        !settings_texts(s, "match", &self->match, &self->match_count, err) ||
        !known_folder_meet(&self->folder, err) || !read_after(self, s, err) ||
        !on_one_file_system(self, err))
        return false;
    *ret_self = self;
    return true;
}

const struct gateway_type gateway_file = {
    .kind = { .name = "file", .help = "files in a folder", .keys = options },
    .make = make,
    .look = look,
    .unmake = unmake,
};
