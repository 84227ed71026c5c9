/* file_out.c - writes each document as a file in a folder, or appends it to one.
 *
 * A file is written under a temporary name in its folder, synced, and then renamed, so that nobody
 * sees half of it.  If this delivery wrote a file of that name before a crash, the delivery is
 * done. Any other file is never replaced, and the delivery is retried until the name is free; with
 * `exists: replace` a plain file is replaced by the rename.  An extended attribute
 * (`user.waybill.delivery`) says who wrote a file; without attributes, its bytes decide.
 *
 * Files and subfolders get the permissions of the folder that they are in.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/id.h"
#include "base/known_folder.h"
#include "base/safe_path.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/probing/probing_folder.h"
#include "core/template.h"
#include "delivery/file_append.h"

#define OWNER "user.waybill.delivery"
#define PART  ".part"

enum { PIECE = 64 << 10, SYNC_BYTES = 8 << 20, TEMP_TRIES = 3, WALK_ENTRIES = 1000000 };

struct file_out {
    struct known_folder folder;
    const struct template *name;
    bool append, replace;
    int64_t made_us; /* older unfinished files were left by a crash */
};

/* One document being delivered. */
struct job {
    struct file_out *self;
    const struct sending *sending;
    struct call *call;
    int dirfd;                     /* the folder of the file */
    mode_t mode;                   /* of the file */
    char path[SAFE_PATH_MOST + 1]; /* below the endpoint's folder */
    const char *name;              /* the last component of the path */
    char temp[SAFE_NAME_MOST + 1];
    int fd; /* of `temp`; locked */
    struct sha256 sha256;
};

static void file_out_job_done(struct job *j)
{
    if (j->fd >= 0)
        (void)close(j->fd);
    if (j->dirfd >= 0)
        (void)close(j->dirfd);
}

/* ---- verdicts ---- */

/* The error concerns the whole endpoint, not a single file. */
static bool is_folder_trouble(int sys)
{
    switch (sys) {
    case ENOENT:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case ENODEV:
    case ENXIO:
    case ESTALE:
    case ETIMEDOUT:
    case EHOSTDOWN:
    case ENOTCONN:
        return true;
    default:
        return false;
    }
}

static void file_out_judge(struct verdict *v, const struct err *err)
{
    if (err->kind == ERR_PERMANENT || err->sys == ENAMETOOLONG)
        (void)verdict_say(v, VERDICT_FAILED, "%s", err->text);
    else if (err->kind == ERR_UNCERTAIN)
        (void)verdict_say(v, VERDICT_DOUBT, "%s", err->text);
    else if (err->sys == KNOWN_FOLDER_STRANGE)
        (void)verdict_say(v, VERDICT_STRANGE, "%s", err->text);
    else if (is_folder_trouble(err->sys))
        (void)verdict_say(v, VERDICT_UNREACHED, "%s", err->text);
    else
        (void)verdict_say(v, VERDICT_RETRY, "%s", err->text);
}

/* ---- names ---- */

static bool file_out_is_ours(struct str name)
{
    struct str end = STR(PART);

    return name.len > 0 && name.ptr[0] == '.' &&
           (file_append_is_journal(name) ||
            (name.len > end.len && str_eq(str_from(name, name.len - end.len), end)));
}

static bool make_path(struct job *j, struct err *err)
{
    const struct sending *s = j->sending;
    struct template_values values = sending_values(s);
    AUTO(buf_done) struct buf path = BUF_INIT(SAFE_PATH_MOST + 1);

    values.path = true;
    if (!template_render(j->self->name, &values, &path, err) || !safe_path(buf_view(&path), err)) {
        err->kind = ERR_PERMANENT;
        return err_context(err, "the name of the file");
    }
    memcpy(j->path, path.ptr, path.len + 1);
    const char *slash = strrchr(j->path, '/');

    j->name = slash != NULL ? slash + 1 : j->path;
    if (file_out_is_ours(str_of(j->name)))
        return err_set(err, ERR_PERMANENT, 0, "the name of the file is one of our own: %.120s",
                       j->path);
    return true;
}

static bool make_temp_name(struct job *j, struct err *err)
{
    struct str id = j->sending->delivery;

    if (j->self->append) {
        file_append_staged_name(id, j->temp);
        return true;
    }
    if (snprintf(j->temp, sizeof j->temp, ".%.*s" PART, STR_ARG(id)) >= (int)sizeof j->temp)
        return err_set(err, ERR_PERMANENT, 0, "the delivery's id is too long for a file name");
    return safe_name(str_of(j->temp), err);
}

/* A temporary file of a delivery (.ID.ENDPOINT.part), or of an append. */
static bool is_temp(struct str name)
{
    struct str end = STR(PART), middle;
    struct id id;

    if (name.len <= end.len + 1 || name.ptr[0] != '.' ||
        !str_eq(str_from(name, name.len - end.len), end))
        return false;
    middle = str_mem(name.ptr + 1, name.len - end.len - 1);
    if (middle.len > ID_TEXT && middle.ptr[ID_TEXT - 1] == '.')
        return id_parse(str_mem(middle.ptr, ID_TEXT - 1), &id);
    for (size_t i = 0; i < middle.len; i++)
        if (strchr("0123456789abcdef", middle.ptr[i]) == NULL)
            return false;
    return middle.len == 32;
}

/* ---- folders ---- */

static bool open_or_make(int dirfd, const char *name, int *ret_fd, struct err *err)
{
    int flags = O_RDONLY | O_DIRECTORY, fd = file_open_beneath(dirfd, name, flags, 0);
    struct stat st;

    if (fd < 0 && errno == ENOENT) {
        if (fstat(dirfd, &st) < 0 || (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST))
            return err_set(err, file_err_kind(errno), errno, "make folder %.100s: %s", name,
                           strerror(errno));
        fd = file_open_beneath(dirfd, name, flags, 0);
        if (fd >= 0)
            (void)fchmod(fd, st.st_mode & 07777);
        if (fd >= 0 && !file_try_sync(dirfd, name, err)) {
            err->kind = ERR_TRANSIENT; /* nothing was sent */
            (void)close(fd);
            return false;
        }
    }
    if (fd < 0)
        return err_set(err, file_err_kind(errno), errno, "folder %.100s: %s", name,
                       errno == ELOOP ? "a symbolic link is in the way" : strerror(errno));
    *ret_fd = fd;
    return true;
}

static bool file_out_open_folder(struct job *j, struct err *err)
{
    char path[SAFE_PATH_MOST + 1];
    struct stat st;

    if (!known_folder_open(&j->self->folder, &j->dirfd, err))
        return false;
    memcpy(path, j->path, sizeof path);
    for (char *part = path, *slash; (slash = strchr(part, '/')) != NULL; part = slash + 1) {
        int below = -1;

        *slash = '\0';
        if (!open_or_make(j->dirfd, part, &below, err))
            return false;
        (void)close(j->dirfd);
        j->dirfd = below;
    }
    if (fstat(j->dirfd, &st) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "folder of %.100s: %s", j->path, strerror(errno));
    j->mode = st.st_mode & 0666;
    return true;
}

/* ---- the temporary file ---- */

static bool file_out_is_named(int dirfd, const char *name, const struct stat *st)
{
    struct stat now;

    return fstatat(dirfd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == st->st_ino &&
           now.st_dev == st->st_dev;
}

/* Locked, so that a node that was declared dead and its successor do not write into one file.  A
 * file that a crash left is reused, unless it has another hard link. */
static bool open_temp(struct job *j, struct err *err)
{
    for (int tries = 0; tries < TEMP_TRIES; tries++) {
        struct stat st;

        j->fd = file_open_beneath(j->dirfd, j->temp, O_RDWR | O_CREAT | O_NONBLOCK, 0600);
        if (j->fd < 0 || fstat(j->fd, &st) < 0)
            return err_set(err, file_err_kind(errno), errno, "create a file for %.100s: %s",
                           j->path, strerror(errno));
        if (flock(j->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
            (void)close(j->fd);
            j->fd = -1; /* not ours to remove */
            return err_set(err, ERR_TRANSIENT, ETIMEDOUT, "an earlier attempt still writes %.100s",
                           j->path);
        }
        if (S_ISREG(st.st_mode) && st.st_nlink == 1 && file_out_is_named(j->dirfd, j->temp, &st)) {
            (void)fchmod(j->fd, j->mode);
            if (ftruncate(j->fd, 0) == 0)
                return true;
            return err_set(err, file_err_kind(errno), errno, "empty the file for %.100s: %s",
                           j->path, strerror(errno));
        }
        (void)unlinkat(j->dirfd, j->temp, 0);
        (void)close(j->fd);
        j->fd = -1;
    }
    return err_set(err, ERR_TRANSIENT, EBUSY, "the temporary file for %.100s is not ours", j->path);
}

static bool write_piece(struct job *j, struct digest *d, struct str bytes, struct err *err)
{
    digest_add(d, bytes);
    if (!file_write_all(j->fd, bytes, err))
        return err_context(err, "write %.100s", j->path);
    fault_point_on(FILE_WRITING, bytes);
    call_alive(j->call);
    return true;
}

static bool write_bytes(struct job *j, struct digest *d, struct err *err)
{
    const struct sending *s = j->sending;
    size_t unsynced = 0;
    int64_t size = 0;

    if (s->bytes.ptr != NULL) {
        for (struct str rest = s->bytes; rest.len > 0; rest = str_from(rest, PIECE)) {
            struct str piece = { rest.ptr, rest.len < PIECE ? rest.len : PIECE };

            if (!write_piece(j, d, piece, err))
                return false;
        }
        return true;
    }
    for (;;) {
        struct str piece;

        if (call_is_over(j->call))
            return err_set(err, ERR_TRANSIENT, 0, "the node is stopping");
        if (!s->next(s->next_arg, &piece, err))
            return err_context(err, "the bytes of the document");
        if (piece.len == 0)
            break;
        size += (int64_t)piece.len;
        unsynced += piece.len;
        if (!write_piece(j, d, piece, err))
            return false;
        if (unsynced >= SYNC_BYTES) { /* a sync of everything at the end would be a long silence */
            (void)fdatasync(j->fd);
            unsynced = 0;
        }
    }
    if (size != s->size)
        return err_set(err, ERR_PERMANENT, 0, "the document has %lld bytes and gave %lld",
                       (long long)s->size, (long long)size);
    return true;
}

static bool stage(struct job *j, struct err *err)
{
    struct str id = j->sending->delivery;
    struct digest d = digest_start();

    if (!open_temp(j, err) || !write_bytes(j, &d, err)) {
        digest_drop(&d);
        return false;
    }
    j->sha256 = digest_end(&d);
    (void)fsetxattr(j->fd, OWNER, id.ptr, id.len, 0); /* not supported on every file system */
    if (!file_try_sync(j->fd, j->path, err)) {
        err->kind = ERR_TRANSIENT; /* the retry writes it again */
        return false;
    }
    fault_point(FILE_STAGED);
    return true;
}

static void drop_temp(const struct job *j)
{
    if (j->fd >= 0)
        (void)unlinkat(j->dirfd, j->temp, 0);
}

/* ---- a file of its own ---- */

enum owner { OWNER_UNKNOWN, OWNER_US, OWNER_OTHER };

static enum owner owner_of(int fd, struct str delivery)
{
    char name[SAFE_NAME_MOST + 1];
    ssize_t n = fgetxattr(fd, OWNER, name, sizeof name);

    if (n < 0)
        return OWNER_UNKNOWN;
    return str_eq(str_mem(name, (size_t)n), delivery) ? OWNER_US : OWNER_OTHER;
}

static bool say_taken(const struct job *j, struct err *err)
{
    return err_set(err, ERR_TRANSIENT, EEXIST, "%.120s is there already and is not replaced",
                   j->path);
}

static bool digest_file(int fd, struct sha256 *ret, struct err *err)
{
    struct digest d = digest_start();
    char piece[PIECE];
    ssize_t n;

    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            digest_add(&d, str_mem(piece, (size_t)n));
    if (n < 0) {
        digest_drop(&d);
        return err_set(err, ERR_TRANSIENT, errno, "read: %s", strerror(errno));
    }
    *ret = digest_end(&d);
    return true;
}

/* The name exists: did this delivery create it before a crash? */
static bool meet(const struct job *j, bool staged, bool *ret_ours, struct err *err)
{
    AUTO_FD fd = file_open_beneath(j->dirfd, j->name, O_RDONLY | O_NONBLOCK, 0);
    struct sha256 sha;
    struct stat st;

    *ret_ours = false;
    if (fd < 0 && errno == ENOENT)
        return !staged || err_set(err, ERR_TRANSIENT, 0, "%.120s is gone again", j->path);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != j->sending->size ||
        owner_of(fd, j->sending->delivery) == OWNER_OTHER)
        return say_taken(j, err);
    if (!staged)
        return true; /* may be ours: compare the bytes later */
    if (!digest_file(fd, &sha, err))
        return err_context(err, "%.120s", j->path);
    if (!digest_same(&sha, &j->sha256))
        return say_taken(j, err);
    *ret_ours = true;
    return file_try_sync(fd, j->path, err);
}

/* For `exists: replace`: only a plain file may be replaced, never what somebody else made there on
 * purpose: a folder, a pipe, a link to another place. */
static bool may_replace(const struct job *j, struct err *err)
{
    struct stat st;

    if (fstatat(j->dirfd, j->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ||
               err_set(err, file_err_kind(errno), errno, "%.120s: %s", j->path, strerror(errno));
    return S_ISREG(st.st_mode) ||
           err_set(err, ERR_TRANSIENT, EEXIST,
                   "%.120s is there, is not a plain file, and is not replaced", j->path);
}

/* A replay leaves its own file as it is: a reader may have taken note of its time. */
static bool rename_over(struct job *j, struct err *err)
{
    struct err other = { 0 };
    bool ours = false;

    if (!may_replace(j, err))
        return false;
    if (!meet(j, true, &ours, &other) || !ours)
        return file_rename_over(j->dirfd, j->temp, j->name, err);
    drop_temp(j);
    return true;
}

static bool publish(struct job *j, struct err *err)
{
    bool replace = j->self->replace, ours;

    if (!(replace ? may_replace(j, err) : meet(j, false, &ours, err)) || !stage(j, err))
        return false;
    if (!call_commit(j->call)) /* another attempt may be under way */
        return err_set(err, ERR_TRANSIENT, 0, "the call was given up");
    if (replace) {
        if (!rename_over(j, err))
            return false;
    } else if (!file_rename_new(j->dirfd, j->temp, j->dirfd, j->name, err)) {
        if (err->sys != EEXIST)
            return false;
        *err = (struct err){ 0 };
        if (!meet(j, true, &ours, err))
            return false;
        drop_temp(j);
    }
    fault_point(FILE_NAMED);
    return file_try_sync(j->dirfd, j->path, err);
}

/* ---- probe ---- */

/* Opens the folder of the file without creating it.  False with ERR_NONE: it does not exist. */
static bool file_out_find_folder(struct job *j, struct err *err)
{
    size_t depth = (size_t)(j->name - j->path);
    char folder[SAFE_PATH_MOST + 1];
    int below;

    if (!known_folder_open(&j->self->folder, &j->dirfd, err))
        return false;
    if (depth == 0)
        return true;
    memcpy(folder, j->path, depth - 1);
    folder[depth - 1] = '\0';
    below = file_open_beneath(j->dirfd, folder, O_RDONLY | O_DIRECTORY, 0);
    if (below < 0)
        return errno != ENOENT && err_set(err, file_err_kind(errno), errno, "folder %.100s: %s",
                                          folder, strerror(errno));
    (void)close(j->dirfd);
    j->dirfd = below;
    return true;
}

static bool digest_sending(struct job *j, struct err *err)
{
    const struct sending *s = j->sending;
    struct digest d = digest_start();
    struct str piece = s->bytes;

    if (s->bytes.ptr != NULL || s->size == 0) {
        digest_add(&d, s->bytes);
        j->sha256 = digest_end(&d);
        return true;
    }
    do {
        if ((call_is_over(j->call) && err_set(err, ERR_TRANSIENT, 0, "the node is stopping")) ||
            !s->next(s->next_arg, &piece, err) || err->kind != ERR_NONE) {
            digest_drop(&d);
            return err_context(err, "the bytes of the document");
        }
        digest_add(&d, piece);
    } while (piece.len > 0);
    j->sha256 = digest_end(&d);
    return true;
}

/* Whether the file exists with these bytes and is not another delivery's.  False with ERR_NONE: it
 * does not; *ret_other: another document has the name. */
static bool file_out_is_there(struct job *j, bool *ret_other, struct err *err)
{
    struct sha256 sha;
    struct stat st;

    if (!make_path(j, err) || !file_out_find_folder(j, err))
        return false;
    AUTO_FD fd = file_open_beneath(j->dirfd, j->name, O_RDONLY | O_NONBLOCK, 0);

    if (fd < 0 && errno != ENOENT && errno != ELOOP)
        return err_set(err, file_err_kind(errno), errno, "%.120s: %s", j->path, strerror(errno));
    if (fd < 0)
        return false;
    *ret_other = true;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != j->sending->size ||
        owner_of(fd, j->sending->delivery) == OWNER_OTHER)
        return false;
    return digest_sending(j, err) && digest_file(fd, &sha, err) && digest_same(&sha, &j->sha256) &&
           file_try_sync(fd, j->path, err) && file_try_sync(j->dirfd, j->path, err);
}

/* Asks the journal whether the document was appended. */
static bool ask_journal(struct job *j, enum append_known *ret, struct err *err)
{
    *ret = APPEND_NOT_THERE;
    if (!make_path(j, err) || !file_out_find_folder(j, err))
        return err->kind == ERR_NONE;
    const struct file_append a = {
        .dirfd = j->dirfd, .name = j->name, .delivery = j->sending->delivery, .call = j->call
    };

    return file_append_ask(&a, ret, err);
}

static void ask_file(void *self, const struct sending *s, struct call *c, struct verdict *ret)
{
    AUTO(file_out_job_done)
    struct job j = { .self = self, .sending = s, .call = c, .dirfd = -1, .fd = -1 };
    struct err err = { 0 };

    enum append_known known = APPEND_NOT_THERE;
    bool other = false;

    *ret = (struct verdict){ 0 };
    if (j.self->append ? ask_journal(&j, &known, &err) && known == APPEND_THERE
                       : file_out_is_there(&j, &other, &err))
        (void)verdict_say(ret, VERDICT_DELIVERED, "asked: %s %s", j.path,
                          j.self->append ? "has it, as its journal says"
                                         : "is there with these bytes");
    else if (err.kind == ERR_NONE && known == APPEND_UNKNOWN)
        (void)verdict_say(ret, VERDICT_DOUBT,
                          "asked: it may stand in %s, in part or whole, and its journal cannot say",
                          j.path);
    else if (err.kind == ERR_NONE && other && j.self->replace)
        (void)verdict_say(ret, VERDICT_DOUBT,
                          "asked: %s has other bytes: it was not written, or was replaced since",
                          j.path);
    else if (err.kind == ERR_NONE)
        (void)verdict_say(ret, VERDICT_RETRY, "asked: %s %s; it is written again", j.path,
                          j.self->append ? "does not have it" : "is not there");
    else if (err.kind == ERR_PERMANENT)
        (void)verdict_say(ret, VERDICT_FAILED, "asked: %s", err.text);
    else if (err.sys == KNOWN_FOLDER_STRANGE)
        (void)verdict_say(ret, VERDICT_STRANGE, "asked: %s", err.text);
    else
        (void)verdict_say(ret, is_folder_trouble(err.sys) ? VERDICT_UNREACHED : VERDICT_DOUBT,
                          "asked: %s", err.text);
}

/* ---- the endpoint ---- */

static bool file_out_add(struct job *j, struct err *err)
{
    const struct file_append a = { .dirfd = j->dirfd,
                                   .name = j->name,
                                   .delivery = j->sending->delivery,
                                   .sha256 = j->sha256,
                                   .size = j->sending->size,
                                   .mode = j->mode,
                                   .call = j->call };

    return file_append_run(&a, err);
}

static void send_file(void *self, const struct sending *s, struct call *c, struct verdict *ret)
{
    AUTO(file_out_job_done)
    struct job j = { .self = self, .sending = s, .call = c, .dirfd = -1, .fd = -1 };
    struct err err = { 0 };

    *ret = (struct verdict){ 0 };
    if (make_path(&j, &err) && make_temp_name(&j, &err) && file_out_open_folder(&j, &err) &&
        (j.self->append ? stage(&j, &err) && file_out_add(&j, &err) : publish(&j, &err))) {
        (void)verdict_say(ret, VERDICT_DELIVERED, "%s %s",
                          j.self->append ? "added to" : "written as", j.path);
        return;
    }
    file_out_judge(ret, &err);
    if (ret->kind == VERDICT_FAILED && j.name == NULL)
        ret->code = dead_codes[DEAD_REJECTED];
    drop_temp(&j);
}

/* ---- options ---- */

static const struct option options[] = {
    OPTION("path", OPT_PATH, "the folder; made when it is missing and its parent is there",
           .flags = OPT_REQUIRED | OPT_FOLDER),
    OPTIONS(grammar_mounted),
    OPTION("name", OPT_TEMPLATE,
           "the name it gets, with sub folders; a value of the document that has a `/` or begins "
           "with a dot is refused",
           .fallback = "${id}"),
    OPTIONS(grammar_exists),
    OPTION("append", OPT_BOOL,
           "add to the file instead of making a new one; `.NAME.waybill` beside it notes what was "
           "added",
           .fallback = "false"),
    { 0 },
};

static void check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *append = yaml_get(map, "append"), *exists = yaml_get(map, "exists");

    if (append != NULL && str_is(yaml_text(append), "true") && exists != NULL &&
        str_is(yaml_text(exists), "replace"))
        problem_add(problems, yaml_position(exists), "leave one of them out",
                    "`exists: replace` and `append: true` exclude each other");
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct file_out *self = ARENA_NEW(s->arena, struct file_out);
    struct str name, exists;

    if (!settings_folder(s, "path", &self->folder, err) || !settings_text(s, "name", &name, err) ||
        !settings_text(s, "exists", &exists, err) ||
        !settings_bool(s, "append", &self->append, err) ||
        !template_compile(name, s->arena, &self->name, err))
        return false;
    self->replace = str_is(exists, "replace");
    self->made_us = clock_wall_us();
    *ret_self = self;
    return true;
}

static void unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

/* ---- recovery ---- */

/* Removes a temporary file, unless this or another node is writing it. */
static void remove_left_over(const struct file_out *self, int dirfd, const char *name,
                             struct call *c)
{
    AUTO_FD fd =
        is_temp(str_of(name)) ? file_open_beneath(dirfd, name, O_RDWR | O_NONBLOCK, 0) : -1;
    struct stat st;

    (void)c;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        st.st_mtim.tv_sec * CLOCK_S + st.st_mtim.tv_nsec / 1000 >= self->made_us)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return;
    if (file_out_is_named(dirfd, name, &st))
        (void)unlinkat(dirfd, name, 0);
}

/* The stack of open folders, the endpoint's own first. */
struct walk {
    DIR *open[SAFE_PATH_DEPTH + 1];
    size_t depth, entries;
};

static void walk_into(struct walk *w, int fd)
{
    DIR *dir = fd >= 0 && w->depth <= SAFE_PATH_DEPTH ? fdopendir(fd) : NULL;

    if (dir != NULL)
        w->open[w->depth++] = dir;
    else if (fd >= 0)
        (void)close(fd);
}

typedef void walk_found(const struct file_out *self, int dirfd, const char *name, struct call *c);

static void walk_entry(const struct file_out *self, struct walk *w, DIR *dir,
                       const struct dirent *e, walk_found *found, struct call *c)
{
    call_alive(c);
    if (e->d_name[0] == '.')
        found(self, dirfd(dir), e->d_name, c);
    else if (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN)
        walk_into(w, file_open_beneath(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY, 0));
}

static void file_out_walk(struct file_out *self, walk_found *found, struct call *c)
{
    struct walk w = { 0 };
    struct err err = { 0 };
    int fd;

    if (!known_folder_open(&self->folder, &fd, &err))
        return;
    walk_into(&w, fd);
    while (w.depth > 0) {
        DIR *dir = w.open[w.depth - 1];
        const struct dirent *e =
            w.entries++ < WALK_ENTRIES && !call_is_over(c) ? readdir(dir) : NULL;

        if (e != NULL) {
            walk_entry(self, &w, dir, e, found, c);
            continue;
        }
        (void)closedir(dir);
        w.depth--;
    }
}

/* A failure is ignored: the next append settles it. */
static void settle_journal(const struct file_out *self, int dirfd, const char *name, struct call *c)
{
    struct err err = { 0 };

    (void)self;
    if (file_append_is_journal(str_of(name)))
        (void)file_append_recover(dirfd, name, c, &err);
}

/* Complete appends first: they need their staged files.  Then remove left-overs. */
static void recover(void *arg, struct call *c)
{
    struct file_out *self = arg;

    if (self->append)
        file_out_walk(self, settle_journal, c);
    file_out_walk(self, remove_left_over, c);
}

static void probe_file(void *arg, struct call *c, struct probing *p)
{
    struct file_out *self = arg;

    (void)c;
    (void)probing_folder(&self->folder, true, p);
}

const struct endpoint_type endpoint_file = {
    .kind = { .name = "file",
              .help = "each document as a file in a folder",
              .keys = options,
              .check = check },
    .make = make,
    .unmake = unmake,
    .send = send_file,
    .ask = ask_file,
    .recover = recover,
    .probe = probe_file,
};
