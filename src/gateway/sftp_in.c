/* sftp_in.c - polls a folder of an SFTP server; each file becomes a document.
 *
 *     edi: { kind: sftp, url: "sftp://us@host/out", password: secret:edi, host_key: "SHA256:...",
 *            after: delete }
 *
 * What is taken, when, and what becomes of it is decided by core/pickup/pickup.h; this is its
 * source of files over SFTP.  The connection is kept from one poll to the next (core/line/line.h).
 *
 * Version 3 of the protocol has times of whole seconds and no inodes: a version is size and time.
 *
 * With `after: delete` or `move` files are claimed if the login may write, rename and remove there;
 * an empty file of our own proves that before anything is claimed.  Else, or when a claim is
 * refused, files are read where they are, and the ledger knows those that cannot be removed.  That
 * is said once, and claiming is tried again some minutes later.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/sftp_client.h"
#include "base/sftp_fetch.h"
#include "core/connector.h"
#include "core/deposit.h"
#include "core/grammar.h"
#include "core/pickup/pickup.h"
#include "core/sftp/sftp_line.h"
#include "core/sftp/sftp_place.h"
#include "core/sftp/sftp_probe.h"

enum {
    FOLDER_MOST = 4096, /* a folder's real path */
    WHERE_MOST = FOLDER_MOST + PICKUP_PATH + 2,
    CLAIM_AGAIN_US = 600 * CLOCK_S,
    NSEC = 1000000000
};

struct sftp_in {
    struct sftp_place place; /* first: what its lines are opened with */
    struct pickup pickup;
    struct str moved;     /* the folder of `after: move`; empty: none */
    bool proven;          /* files can be claimed */
    bool rested;          /* ... and nothing is left from a time when they could not */
    int64_t unclaimed_us; /* until then none is; monotonic */
};

/* What stops claims, once something does. */
enum refusal { REFUSED_NOTHING, REFUSED_CLAIM, REFUSED_REMOVAL };

/* One poll. */
struct remote {
    struct sftp_in *self;
    struct call *call;
    const struct deposit_port *port;
    void *deposit; /* of the port */
    struct sftp_client *sftp;
    struct buf folder, moved; /* real paths, with `after: move` */
    enum refusal refused;
    bool left_only; /* what was claimed before: the folder itself looks empty */
};

/* ---- names and errors ---- */

/* A path in the folder, as the server is asked for it. */
static struct str sftp_in_path(const struct sftp_in *self, const char *path,
                               char to[static WHERE_MOST])
{
    struct str folder = self->place.folder;
    const char *between = folder.len == 0 || folder.ptr[folder.len - 1] == '/' ? "" : "/";

    if (path[0] == '\0')
        return folder.len > 0 ? folder : STR(".");
    return str_mem(to,
                   (size_t)snprintf(to, WHERE_MOST, "%.*s%s%s", STR_ARG(folder), between, path));
}

static bool sftp_in_is_lost(const struct remote *o)
{
    return sftp_client_is_lost(o->sftp);
}

/* A refusal concerns this one file, a lost connection all of them. */
static bool sftp_in_fail(const struct remote *o, struct err *err, const char *what,
                         const char *path)
{
    if (!sftp_in_is_lost(o) && err->sys != ENOENT)
        err->kind = ERR_PERMANENT;
    return err_context(err, "%s %.60s", what, path[0] != '\0' ? path : "the folder");
}

/* ---- what is there ---- */

static void sftp_in_put_version(const struct sftp_attrs *a, struct pickup_entry *ret)
{
    ret->size = a->size < INT64_MAX ? (int64_t)a->size : INT64_MAX;
    ret->time_ns = (int64_t)a->mtime * NSEC;
    (void)snprintf(ret->version, sizeof ret->version, "%lld %lu", (long long)ret->size,
                   (unsigned long)a->mtime);
}

static void sftp_in_fill(const struct sftp_attrs *a, struct pickup_entry *ret)
{
    ret->kind = !a->has_mode || S_ISREG(a->mode) ? PICKUP_FILE
                : S_ISDIR(a->mode)               ? PICKUP_FOLDER
                                                 : PICKUP_OTHER;
    ret->refused = NULL;
    if (ret->kind == PICKUP_OTHER) {
        ret->refused = S_ISLNK(a->mode) ? "it is a symbolic link" : "it is no plain file";
        ret->hint = "Only plain files are taken. Remove it, or put a copy in its place.";
    } else if (ret->kind == PICKUP_FILE && !a->has_size) {
        ret->refused = "the server does not say its size";
        ret->hint = "Without it nobody knows when it is whole. Ask who runs the server.";
    }
    sftp_in_put_version(a, ret);
}

static bool sftp_in_stat(void *arg, const char *path, struct pickup_entry *ret, struct err *err)
{
    struct remote *o = arg;
    char to[WHERE_MOST];
    struct sftp_attrs a;

    if (!sftp_fetch_stat(o->sftp, sftp_in_path(o->self, path, to), false, &a, err))
        return sftp_in_fail(o, err, "look at", path);
    sftp_in_fill(&a, ret);
    return true;
}

struct remote_list {
    struct remote *remote;
    char path[PICKUP_PATH];
    struct sftp_folder folder;
};

static bool sftp_in_list_begin(void *arg, const char *folder, void **ret_list, struct err *err)
{
    struct remote *o = arg;
    struct remote_list *l = NEW(struct remote_list);
    char to[WHERE_MOST];

    l->remote = o;
    (void)snprintf(l->path, sizeof l->path, "%s", folder);
    if (sftp_folder_open(o->sftp, sftp_in_path(o->self, folder, to), &l->folder, err)) {
        *ret_list = l;
        return true;
    }
    sftp_folder_close(o->sftp, &l->folder);
    free(l);
    return sftp_in_fail(o, err, "read", folder);
}

static void sftp_in_list_end(void *list)
{
    struct remote_list *l = list;

    sftp_folder_close(l->remote->sftp, &l->folder);
    free(l);
}

/* Files that were moved on are not taken again, when their folder lies in the one we look in. */
static bool sftp_in_is_where_moved(const struct remote_list *l, struct str name)
{
    const struct remote *o = l->remote;
    char path[WHERE_MOST];
    const char *top = str_is(buf_view(&o->folder), "/") ? "" : o->folder.ptr;

    if (o->moved.len == 0)
        return false;
    int len = snprintf(path, sizeof path, "%s/%s%s%.*s", top, l->path,
                       l->path[0] != '\0' ? "/" : "", STR_ARG(name));

    return len > 0 && len < WHERE_MOST && str_is(buf_view(&o->moved), path);
}

/* Some servers leave out of a listing what they know. */
static bool sftp_in_know_more(struct remote_list *l, struct str name, struct sftp_attrs *a,
                              struct err *err)
{
    struct err unsafe = { 0 };
    char path[PICKUP_PATH], to[WHERE_MOST];

    if ((a->has_mode && a->has_size && a->has_times) || !safe_name(name, &unsafe) ||
        snprintf(path, sizeof path, "%s%s%.*s", l->path, l->path[0] != '\0' ? "/" : "",
                 STR_ARG(name)) >= PICKUP_PATH ||
        sftp_fetch_stat(l->remote->sftp, sftp_in_path(l->remote->self, path, to), false, a, err))
        return true;
    if (sftp_in_is_lost(l->remote))
        return false;
    *err = (struct err){ 0 }; /* gone, or closed to us: whoever wants it asks again */
    return true;
}

static bool sftp_in_list_next(void *list, struct pickup_entry *ret, bool *ret_end, struct err *err)
{
    struct remote_list *l = list;
    struct remote *o = l->remote;

    for (;;) {
        struct sftp_attrs a = { 0 };
        struct str name = STR("");

        if (o->left_only && l->path[0] == '\0') {
            *ret_end = true;
            return true;
        }
        if (!sftp_folder_next(o->sftp, &l->folder, &name, &a, ret_end, err))
            return sftp_in_fail(o, err, "read", l->path);
        if (*ret_end)
            return true;
        if (str_is(name, ".") || str_is(name, ".."))
            continue;
        if (!sftp_in_know_more(l, name, &a, err))
            return sftp_in_fail(o, err, "read", l->path);
        *ret = (struct pickup_entry){ .name = name };
        sftp_in_fill(&a, ret);
        if (ret->kind != PICKUP_FOLDER || !sftp_in_is_where_moved(l, name))
            return true;
    }
}

/* ---- what is in it ---- */

struct remote_file {
    struct remote *remote;
    struct sftp_fetch fetch;
};

static bool sftp_in_open(void *arg, const char *path, struct pickup_entry *ret, void **ret_file,
                         struct err *err)
{
    struct remote *o = arg;
    struct remote_file *f = NEW(struct remote_file);
    char to[WHERE_MOST];

    *ret_file = NULL;
    f->remote = o;
    if (sftp_fetch_open(o->sftp, sftp_in_path(o->self, path, to), &f->fetch, err)) {
        sftp_in_fill(&f->fetch.attrs, ret);
        *ret_file = f;
        return true;
    }
    free(f);
    if (sftp_in_is_lost(o) || err->sys != EACCES)
        return sftp_in_fail(o, err, "open", path);
    *err = (struct err){ 0 };
    if (!sftp_in_stat(arg, path, ret, err))
        return false;
    if (ret->refused == NULL) {
        ret->refused = "it cannot be read";
        ret->hint = "Give the login the right to read it.";
    }
    return true;
}

static bool sftp_in_read(void *file, char *to, size_t room, size_t *ret_len, struct err *err)
{
    struct remote_file *f = file;

    return sftp_fetch_read(f->remote->sftp, &f->fetch, to, room, ret_len, err) ||
           sftp_in_fail(f->remote, err, "read", "it");
}

static bool sftp_in_same(void *file, const char *version, bool *ret, struct err *err)
{
    const struct remote_file *f = file;
    struct pickup_entry now = { 0 };

    (void)err;
    sftp_in_put_version(&f->fetch.after, &now);
    *ret = f->fetch.whole && strcmp(now.version, version) == 0;
    return true;
}

static void sftp_in_close(void *file)
{
    struct remote_file *f = file;

    sftp_fetch_close(f->remote->sftp, &f->fetch);
    free(f);
}

/* ---- away ---- */

static bool sftp_in_is_in_work(const char *path)
{
    struct str work = STR(FOLDER_WORK "/");

    return str_starts(str_of(path), work);
}

static bool sftp_in_remove(void *arg, const char *path, struct err *err)
{
    struct remote *o = arg;
    char to[WHERE_MOST];

    if (sftp_client_remove(o->sftp, sftp_in_path(o->self, path, to), err))
        return true;
    if (!sftp_in_is_lost(o) && err->sys != ENOENT && sftp_in_is_in_work(path))
        o->refused = REFUSED_REMOVAL;
    return sftp_in_fail(o, err, "remove", path);
}

/* A rename was refused: because there is nothing to rename?  Not every server says so. */
static bool sftp_in_is_gone(struct remote *o, struct str from, struct err *err)
{
    enum sftp_found found;
    struct err why = { 0 };
    uint64_t size;

    return !sftp_in_is_lost(o) && sftp_client_look(o->sftp, from, &found, &size, &why) &&
           found == SFTP_MISSING &&
           !err_set(err, ERR_TRANSIENT, ENOENT, "it is not there any more");
}

/* Never over a file: a server that keeps to the protocol refuses that, but not all do. */
static bool sftp_in_rename_new(struct remote *o, struct str from, struct str to, struct err *err)
{
    enum sftp_found found;
    uint64_t size;

    if (!sftp_client_look(o->sftp, to, &found, &size, err))
        return false;
    if (found != SFTP_MISSING)
        return err_set(err, ERR_TRANSIENT, EEXIST, "the name is taken");
    if (sftp_client_rename(o->sftp, from, to, err))
        return true;
    (void)sftp_in_is_gone(o, from, err);
    return false;
}

/* To a name that nothing has.  At once if the server can do that: the other way, one that dies may
 * leave both names. */
static bool sftp_in_rename_at_once(struct remote *o, struct str from, struct str to,
                                   struct err *err)
{
    return (sftp_client_has(o->sftp, SFTP_POSIX_RENAME)
                ? sftp_client_rename_over
                : sftp_client_rename)(o->sftp, from, to, err);
}

/* Into a work folder that was made for this claim. */
static bool sftp_in_claim(struct remote *o, struct str from, struct str to, struct err *err)
{
    if (sftp_in_rename_at_once(o, from, to, err))
        return true;
    if (!sftp_in_is_gone(o, from, err) && !sftp_in_is_lost(o))
        o->refused = REFUSED_CLAIM; /* it would be the same for the others */
    return false;
}

static bool sftp_in_move(void *arg, const char *path, const char *name, struct err *err)
{
    struct remote *o = arg;
    char from[WHERE_MOST], to[WHERE_MOST];
    struct str folder = o->self->moved;
    int len = snprintf(to, sizeof to, "%.*s/%s", STR_ARG(folder), name);

    if (len < 0 || len >= WHERE_MOST)
        return err_set(err, ERR_PERMANENT, ENAMETOOLONG, "move %.60s: the path is too long", path);
    if (sftp_in_rename_new(o, sftp_in_path(o->self, path, from), str_mem(to, (size_t)len), err))
        return true;
    return err->sys == EEXIST ? false : sftp_in_fail(o, err, "move", path);
}

static bool sftp_in_rename(void *arg, const char *from, const char *to, struct err *err)
{
    struct remote *o = arg;
    char a[WHERE_MOST], b[WHERE_MOST];
    struct str here = sftp_in_path(o->self, from, a), there = sftp_in_path(o->self, to, b);

    if ((sftp_in_is_in_work(to) ? sftp_in_claim : sftp_in_rename_new)(o, here, there, err))
        return true;
    if (o->refused == REFUSED_CLAIM)
        return err_context(err, "rename %.60s", from); /* it ends the poll */
    return err->sys == EEXIST ? false : sftp_in_fail(o, err, "rename", from);
}

static bool sftp_in_make_folder(void *arg, const char *path, struct err *err)
{
    struct remote *o = arg;
    char to[WHERE_MOST];
    struct str at = sftp_in_path(o->self, path, to);
    struct err why = { 0 };
    struct sftp_attrs a;

    if (sftp_client_mkdir(o->sftp, at, err))
        return true;
    if (!sftp_in_is_lost(o) && sftp_fetch_stat(o->sftp, at, false, &a, &why) && a.has_mode &&
        S_ISDIR(a.mode)) {
        *err = (struct err){ 0 };
        return true;
    }
    if (!sftp_in_is_lost(o) && sftp_in_is_in_work(path)) {
        o->refused = REFUSED_CLAIM;
        return err_context(err, "make %.60s", path);
    }
    return sftp_in_fail(o, err, "make", path);
}

static void sftp_in_remove_folder(void *arg, const char *path)
{
    struct remote *o = arg;
    struct err err = { 0 };
    char to[WHERE_MOST];

    if (!sftp_in_is_lost(o))
        (void)sftp_client_rmdir(o->sftp, sftp_in_path(o->self, path, to),
                                &err); /* fails while it is full */
}

#define REMOTE_FILES                                                                           \
    .coarse = true, .list = sftp_in_list_begin, .next = sftp_in_list_next,                     \
    .end = sftp_in_list_end, .stat = sftp_in_stat, .open = sftp_in_open, .read = sftp_in_read, \
    .same = sftp_in_same, .close = sftp_in_close, .remove = sftp_in_remove, .move = sftp_in_move

#define CLAIMED_FILES                                                             \
    .claims = true, .rename = sftp_in_rename, .make_folder = sftp_in_make_folder, \
    .remove_folder = sftp_in_remove_folder

static const struct pickup_source sftp_in_claimed = { REMOTE_FILES, CLAIMED_FILES };
static const struct pickup_source sftp_in_noted = { REMOTE_FILES, CLAIMED_FILES, .noted = true };

static const struct pickup_source sftp_in_unclaimed = { REMOTE_FILES };

/* ---- may files be claimed? ---- */

/* Files are taken where they are for some time: the reason is said, not hidden. */
static void sftp_in_leave_unclaimed(struct remote *o, const struct err *why)
{
    char text[sizeof why->text + 40];

    o->self->proven = o->self->rested = false;
    o->self->unclaimed_us = clock_mono_us() + CLAIM_AGAIN_US;
    (void)snprintf(text, sizeof text, "files there cannot be claimed: %s", why->text);
    o->port->complain(o->deposit, str_of(o->self->pickup.title), text,
                      "They are read where they are, and removed if that is allowed. Give the "
                      "login the right to write, rename and remove there, or say `after: keep`.");
}

/* Makes an empty file, renames it as a claim does, and removes it. */
static bool sftp_in_prove_claims(struct remote *o, struct err *err)
{
    unsigned long long chance = chance_u64();
    char name[64], claimed[64], a[WHERE_MOST], b[WHERE_MOST];
    struct sftp_client_file f;

    (void)snprintf(name, sizeof name, FOLDER_WORK ".%016llx.part", chance);
    (void)snprintf(claimed, sizeof claimed, FOLDER_WORK "/%016llx.part", chance);
    struct str from = sftp_in_path(o->self, name, a), to = sftp_in_path(o->self, claimed, b);

    if (!sftp_client_create(o->sftp, from, &f, err))
        return false;
    sftp_client_leave(o->sftp, &f);
    bool renamed = sftp_in_rename_at_once(o, from, to, err);

    if (renamed && sftp_client_remove(o->sftp, to, err))
        return true;
    struct err again = { 0 };

    if (!sftp_in_is_lost(o))
        (void)sftp_client_remove(o->sftp, renamed ? to : from, &again);
    return false;
}

/* *ret: whether this poll claims files. */
static bool sftp_in_may_claim(struct remote *o, bool *ret, struct err *err)
{
    struct sftp_in *self = o->self;

    *ret = false;
    if (self->pickup.after == PICKUP_KEEP || clock_mono_us() < self->unclaimed_us)
        return true;
    if (sftp_in_make_folder(o, FOLDER_WORK, err) &&
        (self->proven || sftp_in_prove_claims(o, err))) {
        self->proven = *ret = true;
        return true;
    }
    if (sftp_in_is_lost(o))
        return false;
    sftp_in_leave_unclaimed(o, err);
    *err = (struct err){ 0 };
    return true;
}

/* ---- the poll ---- */

static bool sftp_in_look_as(struct remote *o, const struct pickup_source *src, int64_t *io_taken,
                            struct err *err)
{
    int64_t taken = 0;
    bool ok = pickup_look(&o->self->pickup, src, o, o->port, o->deposit, &taken, err);

    *io_taken += taken;
    return ok;
}

/* When a claim is refused, what was claimed before it is taken, then the others where they are. */
static bool sftp_in_look_claiming(struct remote *o, int64_t *io_taken, struct err *err)
{
    const struct pickup_source *src = o->self->rested ? &sftp_in_claimed : &sftp_in_noted;

    if (sftp_in_look_as(o, src, io_taken, err)) {
        o->self->rested = o->self->rested || o->self->pickup.rested;
        return true;
    }
    if (o->refused == REFUSED_NOTHING || sftp_in_is_lost(o))
        return false;
    sftp_in_leave_unclaimed(o, err);
    *err = (struct err){ 0 };
    if (o->refused == REFUSED_CLAIM) {
        o->refused = REFUSED_NOTHING;
        o->left_only = true;
        if (!sftp_in_look_as(o, src, io_taken, err) && o->refused == REFUSED_NOTHING)
            return false;
        *err = (struct err){ 0 };
        o->left_only = false;
    }
    return sftp_in_look_as(o, &sftp_in_unclaimed, io_taken, err);
}

static bool sftp_in_meet_folder(struct remote *o, struct str path, const char *what,
                                const char *key, struct err *err)
{
    struct sftp_attrs a;

    if (sftp_fetch_stat(o->sftp, path, true, &a, err))
        return !a.has_mode || S_ISDIR(a.mode) ||
               err_set(err, ERR_TRANSIENT, ENOTDIR, "%s %.80s is no folder: correct `%s`", what,
                       path.ptr, key);
    if (sftp_in_is_lost(o))
        return false;
    if (err->sys == ENOENT)
        return err_set(err, ERR_TRANSIENT, ENOENT,
                       "%s %.80s is not there: make it, or correct `%s`", what, path.ptr, key);
    return err_context(err, "%s %.80s", what, path.ptr);
}

static bool sftp_in_meet_moved(struct remote *o, struct err *err)
{
    char to[WHERE_MOST];

    if (o->self->pickup.after != PICKUP_MOVE)
        return true;
    if (!sftp_in_meet_folder(o, o->self->moved, "the folder of `after: move`", "move", err) ||
        !sftp_fetch_real(o->sftp, sftp_in_path(o->self, "", to), &o->folder, err) ||
        !sftp_fetch_real(o->sftp, o->self->moved, &o->moved, err))
        return false;
    return !str_eq(buf_view(&o->folder), buf_view(&o->moved)) ||
           err_set(err, ERR_TRANSIENT, EINVAL,
                   "the folder of `after: move` is the one to look in: correct `move`");
}

static void sftp_in_done(struct remote *o)
{
    if (o->sftp != NULL)
        line_give(o->call, &sftp_line, o->self, o->sftp, !sftp_in_is_lost(o));
    buf_done(&o->folder);
    buf_done(&o->moved);
}

/* Takes a connection and looks at the folder.  One that was kept may be dead although it looked
 * open: then another one is taken. */
static bool sftp_in_reach(struct remote *o, struct err *err)
{
    struct sftp_client_pace pace = sftp_line_pace(&o->self->place, o->call);
    char to[WHERE_MOST];

    for (;;) {
        bool kept;
        void *line;

        if (!line_take(o->call, &sftp_line, o->self, &line, &kept, err))
            return false;
        o->sftp = line;
        sftp_client_set_pace(o->sftp, &pace);
        if (sftp_in_meet_folder(o, sftp_in_path(o->self, "", to), "the folder", "url", err))
            return true;
        if (!kept || !sftp_in_is_lost(o) || err->sys == ETIMEDOUT || err->sys == ECANCELED)
            return false;
        *err = (struct err){ 0 };
        line_give(o->call, &sftp_line, o->self, o->sftp, false);
        o->sftp = NULL;
    }
}

static bool sftp_in_poll(struct remote *o, int64_t *io_taken, struct err *err)
{
    bool claims;

    return sftp_in_reach(o, err) && sftp_in_meet_moved(o, err) &&
           sftp_in_may_claim(o, &claims, err) &&
           (claims ? sftp_in_look_claiming(o, io_taken, err)
                   : sftp_in_look_as(o, &sftp_in_unclaimed, io_taken, err));
}

static bool look(void *arg, const struct deposit_port *port, void *deposit, int64_t *ret_taken,
                 struct err *err)
{
    AUTO(sftp_in_done)
    struct remote o = { .self = arg,
                        .call = port->call != NULL ? port->call(deposit) : NULL,
                        .port = port,
                        .deposit = deposit,
                        .folder = BUF_INIT(FOLDER_MOST),
                        .moved = BUF_INIT(FOLDER_MOST) };

    *ret_taken = 0;
    if (sftp_in_poll(&o, ret_taken, err))
        return true;
    struct err why = *err;

    if (why.sys == SSH_LINK_LOGIN)
        (void)err_set(err, ERR_TRANSIENT, SSH_LINK_LOGIN,
                      "%.130s: correct `user`, `password` or `private_key`", why.text);
    return false;
}

/* ---- options ---- */

static const struct option options[] = {
    OPTION("url", OPT_URL,
           "the folder to look in; /~/ is the user's own. Names that begin with a dot or end in "
           ".part or .tmp are never taken, so that senders can write and then rename",
           .flags = OPT_REQUIRED, .words = OPTION_WORDS("sftp")),
    OPTIONS(grammar_login),
    OPTIONS(grammar_ssh),
    OPTIONS(grammar_every),
    OPTIONS(grammar_files),
    OPTIONS(grammar_silence),
    { 0 },
};

/* /done is a folder of the server; done, one in the folder that is looked in. */
static bool sftp_in_read_moved(struct sftp_in *self, const struct settings *s, struct err *err)
{
    struct settings below = settings_below(s, "after");
    char to[WHERE_MOST];
    struct str move;

    if (self->pickup.after != PICKUP_MOVE)
        return true;
    if (!settings_text(&below, "move", &move, err))
        return false;
    while (move.len > 1 && move.ptr[move.len - 1] == '/')
        move.len--;
    if (move.len == 0 || move.len > SAFE_PATH_MOST)
        return err_set(err, ERR_CONFIG, 0, "`move` is no path of the server");
    self->moved = arena_copy(
        s->arena, move.ptr[0] == '/' ? move : sftp_in_path(self, arena_text(s->arena, move), to));
    return true;
}

static void unmake(void *arg)
{
    struct sftp_in *self = arg;

    pickup_done(&self->pickup);
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct sftp_in *self = ARENA_NEW(s->arena, struct sftp_in);

    if (!sftp_place_read(s, &self->place, err) || !pickup_init(&self->pickup, s, err) ||
        !sftp_in_read_moved(self, s, err))
        return false;
    self->place.hurries = true;
    self->pickup.title = self->place.folder.len > 0 ? self->place.folder.ptr : ".";
    *ret_self = self;
    return true;
}

static void sftp_in_probe(void *arg, struct call *c, struct probing *p)
{
    const struct sftp_in *self = arg;

    (void)probing_sftp(&self->place, self->pickup.after != PICKUP_KEEP, self->place.timeout_us, c,
                       p);
}

const struct gateway_type gateway_sftp = {
    .kind = { .name = "sftp",
              .help = "files on an SFTP server",
              .keys = options,
              .check = sftp_place_check },
    .make = make,
    .look = look,
    .unmake = unmake,
    .keeps_time = true,
    .line = &sftp_line,
    .probe = sftp_in_probe,
};
