/* ftp_in.c - polls a folder of an FTP server; each file becomes a document.
 *
 * What is taken, when, and what becomes of it is decided by core/pickup/pickup.h; this is its
 * source of files on a server.  One login serves a poll, and is kept for the next one
 * (core/line/line.h).
 *
 * FTP knows no rename that fails where a file is: a name is looked up before, and files are claimed
 * into folders of their own, where nothing is.  A login that may not make folders and rename in the
 * folder reads files where they lie (pickup_source.claims); that is tried once per login.
 *
 * The version of a file is its size and the second of its last change, as the server tells them.  A
 * listing is read as a whole before the first of its files is looked at, because the connection can
 * do one thing at a time: it is kept in a compact form.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "core/connector.h"
#include "core/deposit.h"
#include "core/ftp/ftp_line.h"
#include "core/ftp/ftp_probe.h"
#include "core/grammar.h"
#include "core/pickup/pickup.h"

enum {
    LISTING_MOST = 48 << 20, /* bytes of a listing in its compact form: about a million names */
    UNREAD_TOLD = 8          /* lines of a listing that are reported */
};

struct ftp_in {
    struct ftp_place place; /* first: what its lines are opened with */
    struct pickup pickup;
    struct str moved; /* of `after: move`, without a slash at its end; empty: none */
    bool claims;      /* files can be claimed ... */
    bool rested;      /* ... and nothing is left from a time when they could not */
    uint64_t login;   /* the one that `claims` was found out with */
};

/* One poll. */
struct ftp_poll {
    struct ftp_in *in;
    struct call *call;
    struct ftp_line *line; /* NULL: none is open */
    const struct deposit_port *port;
    void *deposit;
};

static bool is_ok(const struct ftp_said *s)
{
    return s->code >= 200 && s->code < 300;
}

/* ---- what is there ---- */

/* An entry of a listing; its name follows. */
struct ftp_seen {
    int64_t size, time_s;
    uint16_t len;
    uint8_t kind;
};

struct ftp_in_list {
    struct ftp_poll *poll;
    char *folder;
    struct buf seen;
    size_t at;
    int64_t entries, unread;
};

static void ftp_in_end(void *list)
{
    struct ftp_in_list *g = list;

    free(g->folder);
    buf_done(&g->seen);
    free(g);
}

static void complain_of_line(struct ftp_in_list *g, struct str line)
{
    if (g->unread++ < UNREAD_TOLD)
        g->poll->port->complain(g->poll->deposit, str_first(line, 200),
                                "this line of the listing cannot be read",
                                "If it is a file that should be taken, rename it.");
}

static bool ftp_in_found(void *arg, enum ftp_list_line is, struct str line,
                         const struct ftp_list_entry *e, struct err *err)
{
    struct ftp_in_list *g = arg;

    if (is == FTP_LIST_UNREAD)
        complain_of_line(g, line);
    if (is != FTP_LIST_ENTRY)
        return true;
    struct ftp_seen seen = {
        .size = e->size, .time_s = e->time_s, .len = (uint16_t)e->name.len, .kind = (uint8_t)e->kind
    };

    g->entries++;
    return (buf_append(&g->seen, str_mem(&seen, sizeof seen), err) &&
            buf_append(&g->seen, e->name, err)) ||
           err_set(err, ERR_CONFIG, 0,
                   "there are more files than can be listed: move some, or use several folders");
}

/* A sub folder that is gone or closed to us concerns only what is in it. */
static bool fail_to_enter(const char *folder, struct err *err)
{
    if (err->sys != EACCES || folder[0] == '\0')
        return false;
    if (str_starts(str_of(folder), STR(FOLDER_WORK "/")))
        err->sys = ENOENT; /* another poll was faster */
    else if (strcmp(folder, FOLDER_WORK) != 0)
        err->kind = ERR_PERMANENT;
    return false;
}

static bool ftp_in_list(void *arg, const char *folder, void **ret_list, struct err *err)
{
    struct ftp_poll *o = arg;
    struct ftp_in_list *g = NEW(struct ftp_in_list);

    *g = (struct ftp_in_list){ .poll = o,
                               .folder = xstrdup(folder),
                               .seen = BUF_INIT(LISTING_MOST) };
    bool ok = ftp_line_list(o->line, folder, ftp_in_found, g, err) || fail_to_enter(folder, err);

    if (ok && g->entries == 0 && g->unread > 0)
        ok = err_set(err, ERR_CONFIG, 0, "%s lists files in a form that is not known here",
                     o->in->place.options.host.ptr);
    if (!ok)
        ftp_in_end(g);
    *ret_list = g;
    return ok;
}

/* Files that were moved on are not taken again, when their folder lies in the one we look in. */
static bool is_where_moved(const struct ftp_in_list *g, struct str name)
{
    struct str moved = g->poll->in->moved, folder = str_of(g->folder);

    if (folder.len == 0)
        return str_eq(moved, name);
    return moved.len == folder.len + 1 + name.len && str_starts(moved, folder) &&
           moved.ptr[folder.len] == '/' && str_eq(str_from(moved, folder.len + 1), name);
}

/* A time that is not told leaves that of a listing as it is: it is good to sort by. */
static void put_ftp_version(int64_t size, int64_t time_s, struct pickup_entry *ret)
{
    ret->size = size;
    if (time_s > 0)
        ret->time_ns = time_s * 1000000000;
    (void)snprintf(ret->version, sizeof ret->version, "%lld %lld", (long long)size,
                   (long long)time_s);
}

static void fill_from_listing(const struct ftp_in_list *g, const struct ftp_seen *seen,
                              struct pickup_entry *ret)
{
    /* Times that LIST tells are no versions, and SIZE follows a link. */
    bool exact = g->poll->line->tells_facts && seen->size >= 0 && seen->time_s > 0;

    ret->kind = seen->kind == FTP_LIST_FILE     ? PICKUP_FILE
                : seen->kind == FTP_LIST_FOLDER ? PICKUP_FOLDER
                                                : PICKUP_OTHER;
    ret->bare = seen->kind == FTP_LIST_FILE && !exact;
    put_ftp_version(seen->size, seen->time_s, ret);
    if (ret->kind == PICKUP_OTHER) {
        ret->refused =
            seen->kind == FTP_LIST_LINK ? "it is a symbolic link" : "it is no plain file";
        ret->hint = "Only plain files are taken. Remove it, or put a copy in its place.";
    }
}

static bool ftp_in_next(void *list, struct pickup_entry *ret, bool *ret_end, struct err *err)
{
    struct ftp_in_list *g = list;

    (void)err;
    while (g->at < g->seen.len) {
        struct ftp_seen seen;
        const char *name = g->seen.ptr + g->at + sizeof seen;

        memcpy(&seen, g->seen.ptr + g->at, sizeof seen);
        g->at += sizeof seen + seen.len;
        if (seen.kind == FTP_LIST_FOLDER && is_where_moved(g, str_mem(name, seen.len)))
            continue;
        *ret = (struct pickup_entry){ .name = str_mem(name, seen.len) };
        fill_from_listing(g, &seen, ret);
        *ret_end = false;
        return true;
    }
    *ret_end = true;
    return true;
}

static bool ftp_in_stat(void *arg, const char *path, struct pickup_entry *ret, struct err *err)
{
    struct ftp_poll *o = arg;
    struct ftp_stat st;

    if (!ftp_line_stat(o->line, path, &st, err))
        return false;
    if (!st.there)
        return err_set(err, ERR_TRANSIENT, ENOENT, "%.100s is not there", path);
    ret->bare = false;
    ret->kind = PICKUP_FILE;
    ret->refused = NULL;
    put_ftp_version(st.size, st.time_s, ret);
    return true;
}

/* ---- what is in it ---- */

struct ftp_in_file {
    struct ftp_poll *poll;
    char *path;
    bool begun;
    int64_t came;
};

/* The connection does one thing at a time: the file is asked for when it is read. */
static bool ftp_in_open(void *arg, const char *path, struct pickup_entry *ret, void **ret_file,
                        struct err *err)
{
    struct ftp_in_file *f;

    *ret_file = NULL;
    if (!ftp_in_stat(arg, path, ret, err))
        return false;
    f = NEW(struct ftp_in_file);
    *f = (struct ftp_in_file){ .poll = arg, .path = xstrdup(path) };
    *ret_file = f;
    return true;
}

static bool ftp_in_begin_file(struct ftp_in_file *f, struct err *err)
{
    struct pickup_entry e = { 0 };
    struct ftp_line *l = f->poll->line;

    if (!ftp_line_open(l, f->path, &f->begun, err))
        return false;
    if (f->begun)
        return true;
    struct ftp_said said = l->said[(l->said_count - 1) % FTP_LINE_COMMANDS];

    if (!ftp_in_stat(f->poll, f->path, &e, err)) /* it is gone by now */
        return false;
    return err_set(err, ERR_PERMANENT, EACCES, "it cannot be read: the server said %lld %s",
                   (long long)said.code, said.text);
}

static bool ftp_in_read(void *file, char *to, size_t room, size_t *ret_len, struct err *err)
{
    struct ftp_in_file *f = file;

    if (!f->begun && !ftp_in_begin_file(f, err))
        return false;
    if (!ftp_line_read(f->poll->line, to, room, ret_len, err)) {
        if (err->sys == EIO) /* it concerns this file */
            err->kind = ERR_PERMANENT;
        return false;
    }
    f->came += (int64_t)*ret_len;
    return true;
}

/* What came is compared, too: a connection that breaks may look like an end. */
static bool ftp_in_same(void *file, const char *version, bool *ret, struct err *err)
{
    struct ftp_in_file *f = file;
    struct pickup_entry now = { 0 };

    ftp_line_end(f->poll->line);
    if (!ftp_in_stat(f->poll, f->path, &now, err))
        return false;
    *ret = now.size == f->came && strcmp(now.version, version) == 0;
    return true;
}

static void ftp_in_close(void *file)
{
    struct ftp_in_file *f = file;

    ftp_line_end(f->poll->line);
    free(f->path);
    free(f);
}

/* ---- away ---- */

/* The server refused to do something with a file. */
static bool fail_with(struct ftp_poll *o, const char *path, const char *what,
                      const struct ftp_said *said, struct err *err)
{
    struct pickup_entry e = { 0 };

    if (!ftp_in_stat(o, path, &e, err))
        return false;
    return err_set(err, ERR_PERMANENT, EACCES, "it cannot be %s: the server said %lld %s", what,
                   (long long)said->code, said->text);
}

static bool ftp_in_remove(void *arg, const char *path, struct err *err)
{
    struct ftp_poll *o = arg;
    struct ftp_said said;

    return ftp_line_ask(o->line, "DELE", path, &said, err) &&
           (is_ok(&said) || fail_with(o, path, "removed", &said, err));
}

/* Nobody else makes names in a work folder. */
static bool is_free(struct ftp_poll *o, const char *path, struct err *err)
{
    struct ftp_stat st;

    if (str_starts(str_of(path), STR(FOLDER_WORK "/")))
        return true;
    if (!ftp_line_stat(o->line, path, &st, err))
        return false;
    return !st.there || err_set(err, ERR_TRANSIENT, EEXIST, "%.100s is there already", path);
}

static bool ftp_in_rename(void *arg, const char *from, const char *to, struct err *err)
{
    struct ftp_poll *o = arg;
    struct ftp_said said;

    return is_free(o, to, err) && ftp_line_rename(o->line, from, to, &said, err) &&
           (is_ok(&said) || fail_with(o, from, "renamed", &said, err));
}

static bool ftp_in_move(void *arg, const char *path, const char *name, struct err *err)
{
    struct ftp_poll *o = arg;
    AUTO(buf_done) struct buf to = BUF_INIT(FTP_PLACE_PATH + SAFE_NAME_MOST + 1);
    struct ftp_said said;

    buf_printf(&to, "%.*s/%s", STR_ARG(o->in->moved), name);
    return is_free(o, to.ptr, err) && ftp_line_rename(o->line, path, to.ptr, &said, err) &&
           (is_ok(&said) ||
            fail_with(o, path, "moved into the folder of `after.move`, which has to be there",
                      &said, err));
}

static bool ftp_in_make_folder(void *arg, const char *path, struct err *err)
{
    struct ftp_poll *o = arg;
    struct ftp_said said;

    return ftp_line_ask(o->line, "MKD", path, &said, err) &&
           (is_ok(&said) || err_set(err, ERR_TRANSIENT, 0,
                                    "the folder %.60s cannot be made: the server said %lld %s",
                                    path, (long long)said.code, said.text));
}

static void ftp_in_remove_folder(void *arg, const char *path)
{
    struct ftp_poll *o = arg;
    struct ftp_said said;
    struct err err = { 0 };

    (void)ftp_line_ask(o->line, "RMD", path, &said, &err); /* fails while files are in it */
}

static const struct pickup_source ftp_files = {
    .coarse = true,
    .list = ftp_in_list,
    .next = ftp_in_next,
    .end = ftp_in_end,
    .stat = ftp_in_stat,
    .open = ftp_in_open,
    .read = ftp_in_read,
    .same = ftp_in_same,
    .close = ftp_in_close,
    .remove = ftp_in_remove,
    .move = ftp_in_move,
    .rename = ftp_in_rename,
    .make_folder = ftp_in_make_folder,
    .remove_folder = ftp_in_remove_folder,
};

/* ---- the poll ---- */

/* Makes the work folder, and tries in it what a claim needs: making, renaming and removing.  Names
 * that another try left behind are removed first. */
static bool try_claims(struct ftp_poll *o, bool *ret, struct ftp_said *ret_said, struct err *err)
{
    struct ftp_line *l = o->line;
    struct ftp_said first, made, renamed, removed;

    if (!ftp_line_ask(l, "MKD", FOLDER_WORK, &first, err) || /* it may be there already */
        !ftp_line_ask(l, "RMD", FOLDER_WORK "/try", &first, err) ||
        !ftp_line_ask(l, "RMD", FOLDER_WORK "/tried", &first, err) ||
        !ftp_line_ask(l, "MKD", FOLDER_WORK "/try", &made, err) ||
        !ftp_line_rename(l, FOLDER_WORK "/try", FOLDER_WORK "/tried", &renamed, err) ||
        !ftp_line_ask(l, "RMD", FOLDER_WORK "/tried", &removed, err))
        return false;
    *ret = is_ok(&made) && is_ok(&renamed) && is_ok(&removed);
    *ret_said = !is_ok(&made) ? made : !is_ok(&renamed) ? renamed : removed;
    return true;
}

static bool find_claims(struct ftp_poll *o, struct err *err)
{
    struct ftp_in *in = o->in;
    struct ftp_said said;
    char why[200];

    if (in->pickup.after == PICKUP_KEEP || in->login == o->line->login)
        return true;
    if (!try_claims(o, &in->claims, &said, err))
        return false;
    in->login = o->line->login;
    if (in->claims)
        return true;
    in->rested = false;
    (void)snprintf(why, sizeof why, "no work folder can be used in it: the server said %lld %s",
                   (long long)said.code, said.text);
    o->port->complain(o->deposit, str_of(in->pickup.title), why,
                      "Files are read where they lie. Better give the login the right to make, "
                      "rename and remove in the folder.");
    return true;
}

static bool ftp_in_alive(void *arg, struct err *err)
{
    struct ftp_poll *o = arg;

    return o->port->alive(o->deposit, err);
}

/* A login that was kept and is gone by now, or silent, is no failure. */
static bool ftp_in_reach(struct ftp_poll *o, struct err *err)
{
    for (bool fresh = false;;) {
        bool kept = false;
        void *line;

        if (!(fresh ? ftp_line_type.open(o->in, o->call, &line, err)
                    : line_take(o->call, &ftp_line_type, o->in, &line, &kept, err)))
            return false;
        if (ftp_line_begin(line, &o->in->place, o->call, kept, err)) {
            o->line = line;
            o->line->alive = ftp_in_alive;
            o->line->arg = o;
            return true;
        }
        line_give(o->call, &ftp_line_type, o->in, line, false);
        if (!kept || call_is_over(o->call))
            return false;
        fresh = err->sys == ETIMEDOUT;
        *err = (struct err){ 0 };
        call_alive(o->call);
    }
}

static bool ftp_in_look(void *arg, const struct deposit_port *port, void *deposit,
                        int64_t *ret_taken, struct err *err)
{
    struct ftp_in *self = arg;
    struct ftp_poll o = { .in = self,
                          .call = port->call != NULL ? port->call(deposit) : NULL,
                          .port = port,
                          .deposit = deposit };
    struct pickup_source files = ftp_files;
    bool ok = ftp_in_reach(&o, err) && find_claims(&o, err);

    *ret_taken = 0;
    files.claims = self->claims;
    files.noted = !self->rested;
    ok = ok && pickup_look(&self->pickup, &files, &o, port, deposit, ret_taken, err);
    self->rested = self->rested || (ok && self->claims && self->pickup.rested);
    if (o.line != NULL) {
        ftp_line_rest(o.line);
        line_give(o.call, &ftp_line_type, self, o.line, ok);
    }
    return ok;
}

/* ---- options ---- */

static const struct option ftp_in_options[] = {
    OPTIONS(grammar_ftp),   OPTIONS(grammar_login),   OPTIONS(grammar_every),
    OPTIONS(grammar_files), OPTIONS(grammar_silence), { 0 },
};

/* The folder of `after: move`: in the one that is looked in, or from the root of the server. */
static bool ftp_in_read_moved(struct ftp_in *self, const struct settings *s, struct err *err)
{
    struct settings below = settings_below(s, "after");
    struct str *moved = &self->moved;

    if (self->pickup.after != PICKUP_MOVE)
        return true;
    if (!settings_text(&below, "move", moved, err))
        return false;
    while (str_starts(*moved, STR("./")))
        *moved = str_from(*moved, 2);
    while (moved->len > 1 && moved->ptr[moved->len - 1] == '/')
        moved->len--;
    if (moved->len == 0 || str_is(*moved, ".") || str_is(*moved, "/") ||
        moved->len > FTP_PLACE_PATH || str_has_control(*moved))
        return err_set(err, ERR_CONFIG, 0,
                       "`after.move` is to be another folder of the server, with a name of at most "
                       "%d bytes",
                       (int)FTP_PLACE_PATH);
    return true;
}

static bool ftp_in_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct ftp_in *self = ARENA_NEW(s->arena, struct ftp_in);

    if (!ftp_place_read(s, &self->place, err) || !pickup_init(&self->pickup, s, err))
        return false;
    if (!ftp_in_read_moved(self, s, err)) {
        pickup_done(&self->pickup);
        return false;
    }
    self->pickup.title = self->place.options.host.ptr;
    *ret_self = self;
    return true;
}

static void ftp_in_unmake(void *arg)
{
    struct ftp_in *self = arg;

    pickup_done(&self->pickup);
}

static void ftp_in_probe(void *arg, struct call *c, struct probing *p)
{
    const struct ftp_in *self = arg;

    (void)ftp_probe(&self->place, self->pickup.after != PICKUP_KEEP, self->moved, c, p);
}

const struct gateway_type gateway_ftp = {
    .kind = { .name = "ftp",
              .help = "files on an FTP server",
              .keys = ftp_in_options,
              .example = "edi: { kind: ftp, url: \"ftp://ftp.example.org/out\", tls: explicit,\n"
                         "       user: waybill, password: \"${secret:ftp}\", after: delete }" },
    .make = ftp_in_make,
    .look = ftp_in_look,
    .unmake = ftp_in_unmake,
    .keeps_time = true,
    .line = &ftp_line_type,
    .probe = ftp_in_probe,
};
