/* sftp_out.c - writes each document as a file on an SFTP server.
 *
 *     edi: { kind: sftp, url: "sftp://us@host/in", password: secret:edi, host_key: "SHA256:..." }
 *
 * A file is written under a temporary name in its folder, synced where the server can do that, and
 * then renamed, so that nobody sees half of it.  The temporary name has the delivery's id in it and
 * is the same in every attempt.  Attempts may overlap: a server that stood still goes on with the
 * requests of one that was given up.  So a file is not emptied before it is written; every request
 * of an attempt repeats what the one before it did, byte for byte.
 *
 * The document has arrived when the rename is answered.  When that answer is lost, both names are
 * looked at over another connection (core/line/line.h): the temporary one is gone and the other one
 * has the size of the document: it was renamed.  The temporary one is there: it was not, and is
 * renamed now.  Otherwise it is in doubt.
 *
 * A delivery that ends without one more attempt, because it was cancelled or tried for too long,
 * may leave its temporary file.  Now and then a delivery removes those of its folder that nobody
 * has written to for an hour.
 *
 * With `exists: wait` a file that has the name is not replaced: if it has the bytes of the
 * document, the delivery is done; else it is retried until the name is free.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/id.h"
#include "base/safe_path.h"
#include "base/sftp_client.h"
#include "base/sftp_fetch.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/line/line.h"
#include "core/sftp/sftp_line.h"
#include "core/sftp/sftp_place.h"
#include "core/sftp/sftp_probe.h"
#include "core/template.h"

#define PART ".part"

enum {
    REMOTE_MOST = 2 * SAFE_PATH_MOST + SAFE_NAME_MOST + 8,
    SWEEP_ENTRIES = 5000, /* of a folder that are looked at */
    STALE_S = 3600
};

#define SWEEP_EVERY_US (INT64_C(3600) * CLOCK_S)

struct sftp_out {
    struct sftp_place place; /* first: what its lines are opened with */
    const struct template *name;
    bool replace;
    _Atomic int64_t swept_us; /* monotonic; 0: not yet */
};

/* One document being delivered. */
struct job {
    struct sftp_out *self;
    const struct sending *sending;
    struct call *call;
    struct sftp_client_pace pace;
    struct sftp_client *sftp;      /* NULL: none is taken */
    char name[SAFE_PATH_MOST + 1]; /* below the endpoint's folder */
    char path[REMOTE_MOST], temp[REMOTE_MOST];
    enum sftp_found left; /* what has the temporary name already */
    struct str rest;      /* of the piece of the document that was read last */
    bool all_read;
};

/* ---- connections ---- */

static void drop_line(struct job *j)
{
    if (j->sftp != NULL)
        line_give(j->call, &sftp_line, j->self, j->sftp, !sftp_client_is_lost(j->sftp));
    j->sftp = NULL;
}

/* Takes a connection and looks at the temporary name.  One that was kept may be dead although it
 * looked open: nothing was sent over it yet, so another one is taken. */
static bool sftp_out_reach(struct job *j, struct err *err)
{
    for (;;) {
        bool kept;
        void *line;
        uint64_t size;

        if (!line_take(j->call, &sftp_line, j->self, &line, &kept, err))
            return false;
        j->sftp = line;
        sftp_client_set_pace(j->sftp, &j->pace);
        if (sftp_client_look(j->sftp, str_of(j->temp), &j->left, &size, err))
            return true;
        if (!kept || !sftp_client_is_lost(j->sftp) || err->sys == ETIMEDOUT ||
            err->sys == ECANCELED)
            return false;
        *err = (struct err){ 0 };
        drop_line(j);
    }
}

/* ---- what other deliveries left ---- */

/* A temporary file of this endpoint: .ID.ENDPOINT.part, and not that of this delivery. */
static bool sftp_out_is_left(const struct job *j, struct str name, const struct sftp_attrs *a)
{
    struct str end = STR(PART), own = j->sending->delivery, endpoint = j->sending->endpoint;
    struct id id;

    if (name.len != 1 + (ID_TEXT - 1) + 1 + endpoint.len + end.len || name.ptr[0] != '.' ||
        name.ptr[ID_TEXT] != '.' || !id_parse(str_mem(name.ptr + 1, ID_TEXT - 1), &id) ||
        str_starts(str_from(name, 1), own))
        return false;
    name = str_from(name, ID_TEXT + 1);
    return str_starts(name, endpoint) && str_eq(str_from(name, endpoint.len), end) &&
           a->has_times && a->has_mode && S_ISREG(a->mode) &&
           a->mtime + INT64_C(1) * STALE_S < clock_wall_us() / CLOCK_S;
}

/* In the folder of this delivery's file, as far as a part of its time allows.  What the server
 * refuses is no failure of this delivery; the next sweep tries again. */
static void sftp_out_sweep_folder(struct job *j)
{
    const char *slash = strrchr(j->temp, '/');
    size_t base = slash != NULL ? (size_t)(slash - j->temp) + 1 : 0;
    struct str folder = base > 1 ? str_mem(j->temp, base - 1) : base == 1 ? STR("/") : STR(".");
    int64_t until_us = clock_mono_us() + j->self->place.timeout_us / 4;
    struct sftp_folder f;
    struct err err = { 0 };
    bool ok = sftp_folder_open(j->sftp, folder, &f, &err), end = false;

    for (int i = 0; ok && !end && i < SWEEP_ENTRIES && clock_mono_us() < until_us; i++) {
        struct sftp_attrs a;
        struct str name;
        char path[REMOTE_MOST];

        ok = sftp_folder_next(j->sftp, &f, &name, &a, &end, &err);
        if (ok && !end && sftp_out_is_left(j, name, &a)) {
            (void)snprintf(path, sizeof path, "%.*s%.*s", (int)base, j->temp, STR_ARG(name));
            (void)sftp_client_remove(j->sftp, str_of(path), &err);
            err = (struct err){ 0 };
        }
    }
    sftp_folder_close(j->sftp, &f);
}

/* By one delivery at a time, before anything of it is sent. */
static bool sftp_out_sweep(struct job *j, struct err *err)
{
    int64_t now_us = clock_mono_us(), last_us = atomic_load(&j->self->swept_us);

    if ((last_us != 0 && now_us - last_us < SWEEP_EVERY_US) ||
        !atomic_compare_exchange_strong(&j->self->swept_us, &last_us, now_us))
        return true;
    sftp_out_sweep_folder(j);
    return !sftp_client_is_lost(j->sftp) ||
           err_set(err, ERR_TRANSIENT, ECONNRESET, "the connection was lost, nothing was sent");
}

/* ---- names ---- */

static bool sftp_out_is_ours(struct str name)
{
    struct str end = STR(PART);

    return name.len > end.len && name.ptr[0] == '.' &&
           str_eq(str_from(name, name.len - end.len), end);
}

static bool sftp_out_make_names(struct job *j, struct err *err)
{
    const struct sending *s = j->sending;
    struct template_values values = sending_values(s);
    AUTO(buf_done) struct buf path = BUF_INIT(SAFE_PATH_MOST + 1);
    struct str folder = j->self->place.folder;
    const char *slash;

    values.path = true;
    if (!template_render(j->self->name, &values, &path, err) || !safe_path(buf_view(&path), err)) {
        err->kind = ERR_PERMANENT;
        return err_context(err, "the name of the file");
    }
    memcpy(j->name, path.ptr, path.len + 1);
    slash = strrchr(j->name, '/');
    if (sftp_out_is_ours(str_of(slash != NULL ? slash + 1 : j->name)))
        return err_set(err, ERR_PERMANENT, 0, "the name of the file is one of our own: %.120s",
                       j->name);
    const char *between = folder.len == 0 || folder.ptr[folder.len - 1] == '/' ? "" : "/";
    int depth = slash != NULL ? (int)(slash + 1 - j->name) : 0;

    (void)snprintf(j->path, sizeof j->path, "%.*s%s%s", STR_ARG(folder), between, j->name);
    if (snprintf(j->temp, sizeof j->temp, "%.*s%s%.*s.%.*s" PART, STR_ARG(folder), between, depth,
                 j->name, STR_ARG(s->delivery)) >= (int)sizeof j->temp)
        return err_set(err, ERR_PERMANENT, 0, "the delivery's id is too long for a file name");
    slash = strrchr(j->temp, '/');
    return safe_name(str_of(slash != NULL ? slash + 1 : j->temp), err);
}

/* The sub folders that the name has, from the first on.  A refusal may mean that one is there: the
 * next request tells. */
static bool sftp_out_make_folders(struct job *j, struct err *err)
{
    size_t base = strlen(j->path) - strlen(j->name);

    for (const char *slash = strchr(j->name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        struct str folder = str_mem(j->path, base + (size_t)(slash - j->name));

        if (!sftp_client_mkdir(j->sftp, folder, err) && sftp_client_is_lost(j->sftp))
            return false;
        *err = (struct err){ 0 };
    }
    return true;
}

/* ---- the bytes of the document ---- */

/* Empty: the end. */
static bool sftp_out_next_piece(struct job *j, struct str *ret, struct err *err)
{
    const struct sending *s = j->sending;

    *ret = STR("");
    if (j->all_read)
        return true;
    if (s->next == NULL) {
        *ret = s->bytes;
        j->all_read = true;
        return true;
    }
    if (call_is_over(j->call))
        return err_set(err, ERR_TRANSIENT, EINTR, "the node is stopping");
    if (!s->next(s->next_arg, ret, err)) {
        if (err->sys == 0 && err->kind == ERR_TRANSIENT)
            err->sys = EINTR; /* not the server's fault */
        return err_context(err, "the bytes of the document");
    }
    j->all_read = ret->len == 0;
    return true;
}

static bool sftp_out_write_all(struct job *j, struct sftp_client_file *f, struct err *err)
{
    struct str piece;

    do {
        if (!sftp_out_next_piece(j, &piece, err) || !sftp_client_write(j->sftp, f, piece, err))
            return false;
        fault_point(SFTP_WRITING);
    } while (piece.len > 0);
    return f->offset == (uint64_t)j->sending->size ||
           err_set(err, ERR_PERMANENT, 0, "the document has %lld bytes and gave %llu",
                   (long long)j->sending->size, (unsigned long long)f->offset);
}

/* Whether these bytes of a file are what comes next in the document. */
static bool sftp_out_compare_piece(struct job *j, struct str theirs, bool *ret_same,
                                   struct err *err)
{
    while (theirs.len > 0 && *ret_same) {
        if (j->rest.len == 0 && !sftp_out_next_piece(j, &j->rest, err))
            return false;
        size_t n = j->rest.len < theirs.len ? j->rest.len : theirs.len;

        *ret_same = n > 0 && memcmp(j->rest.ptr, theirs.ptr, n) == 0;
        j->rest = str_from(j->rest, n);
        theirs = str_from(theirs, n);
    }
    return true;
}

/* Whether the file has the bytes of the document, whose size it has. */
static bool sftp_out_is_same(struct job *j, bool *ret_same, struct err *err)
{
    struct sftp_client_file f;
    struct str piece;
    bool ok;

    *ret_same = true;
    if (!sftp_client_read_begin(j->sftp, str_of(j->path), &f, err))
        return false;
    do {
        ok = sftp_client_read(j->sftp, &f, &piece, err) &&
             sftp_out_compare_piece(j, piece, ret_same, err);
    } while (ok && *ret_same && piece.len > 0);
    *ret_same = ok && *ret_same && f.offset == (uint64_t)j->sending->size;
    sftp_client_leave(j->sftp, &f);
    return ok;
}

/* ---- the name ---- */

static bool sftp_out_say_taken(const struct job *j, const char *why, struct err *err)
{
    return err_set(err, ERR_TRANSIENT, EEXIST, "%.100s is there already and is not replaced%s",
                   j->name, why);
}

/* What has the name of the file: nothing (go on), or this delivery (*ret_done), or another one. */
static bool sftp_out_meet(struct job *j, bool *ret_done, struct err *err)
{
    enum sftp_found found;
    uint64_t size;

    *ret_done = false;
    if (!sftp_client_look(j->sftp, str_of(j->path), &found, &size, err))
        return false;
    if (found == SFTP_MISSING)
        return true;
    if (found != SFTP_A_FILE || size != (uint64_t)j->sending->size)
        return sftp_out_say_taken(j, "", err);
    if (!sftp_out_is_same(j, ret_done, err)) {
        if (err->sys != EACCES || sftp_client_is_lost(j->sftp))
            return false;
        return sftp_out_say_taken(j, "; it is as long as the document, and may not be read", err);
    }
    return *ret_done || sftp_out_say_taken(j, "", err);
}

/* A folder or a link is not replaced. */
static bool sftp_out_may_replace(struct job *j, bool *ret_done, struct err *err)
{
    enum sftp_found found;
    uint64_t size;

    *ret_done = false;
    return sftp_client_look(j->sftp, str_of(j->path), &found, &size, err) &&
           (found != SFTP_OTHER || sftp_out_say_taken(j, ": it is no plain file", err));
}

/* The temporary file of an attempt that failed, unless another attempt may be writing it. */
static void sftp_out_remove_temp(struct job *j)
{
    struct err err = { 0 };

    if (j->sftp != NULL && !sftp_client_is_lost(j->sftp) && !call_is_given_up(j->call))
        (void)sftp_client_remove(j->sftp, str_of(j->temp), &err);
}

static bool sftp_out_stage(struct job *j, struct err *err)
{
    bool there = j->left != SFTP_MISSING, nested = strchr(j->name, '/') != NULL;
    struct str temp = str_of(j->temp);
    struct sftp_client_file f;
    uint64_t size;

    if (j->left == SFTP_OTHER)
        return err_set(err, ERR_TRANSIENT, EEXIST, "the temporary name of %.100s is taken",
                       j->name);
    if (!sftp_client_create(j->sftp, temp, &f, err)) {
        if (err->sys != ENOENT || !nested)
            return err_context(err, "create a file for %.100s", j->name);
        *err = (struct err){ 0 };
        if (!sftp_out_make_folders(j, err) || !sftp_client_create(j->sftp, temp, &f, err))
            return err_context(err, "create the folder of %.100s", j->name);
    }
    if (!sftp_out_write_all(j, &f, err) || !sftp_client_finish(j->sftp, &f, there, err)) {
        sftp_client_leave(j->sftp, &f);
        sftp_out_remove_temp(j);
        return err_context(err, "write %.100s", j->name);
    }
    if (!sftp_client_look(j->sftp, temp, &j->left, &size, err))
        return false;
    return (j->left == SFTP_A_FILE && size == (uint64_t)j->sending->size) ||
           err_set(err, ERR_TRANSIENT, EREMOTEIO, "%.100s was written, and has another size there",
                   j->name);
}

/* Over what is there, as far as `exists` allows. */
static bool rename_it(struct job *j, struct err *err)
{
    struct str temp = str_of(j->temp), path = str_of(j->path);
    enum sftp_found found;
    uint64_t size;
    struct err why = { 0 };

    if (j->self->replace && sftp_client_has(j->sftp, SFTP_POSIX_RENAME))
        return sftp_client_rename_over(j->sftp, temp, path, err);
    if (sftp_client_rename(j->sftp, temp, path, err))
        return true;
    if (sftp_client_is_lost(j->sftp) || !sftp_client_look(j->sftp, path, &found, &size, &why) ||
        found == SFTP_MISSING)
        return false;
    if (!j->self->replace)
        return sftp_out_say_taken(j, "", err);
    *err = (struct err){ 0 };
    return sftp_client_remove(j->sftp, path, err) && sftp_client_rename(j->sftp, temp, path, err);
}

/* Both names tell whether the rename was done; one that was not is done now. */
static bool sftp_out_is_named(struct job *j)
{
    enum sftp_found found;
    struct err err = { 0 };
    uint64_t size;

    if (!sftp_out_reach(j, &err) ||
        !sftp_client_look(j->sftp, str_of(j->path), &found, &size, &err))
        return false;
    if (j->left == SFTP_MISSING)
        return found == SFTP_A_FILE && size == (uint64_t)j->sending->size;
    return j->left == SFTP_A_FILE && rename_it(j, &err);
}

/* The answer to the rename was lost. */
static bool sftp_out_settle(struct job *j, struct err *err)
{
    struct err lost = *err;

    drop_line(j);
    call_alive(j->call);
    return (!call_is_given_up(j->call) && sftp_out_is_named(j)) ||
           err_set(err, ERR_UNCERTAIN, 0,
                   "the connection was lost before %.80s had its name: %.80s", j->name, lost.text);
}

/* A third of what is left of the time is kept for sftp_out_settle(). */
static void keep_time(struct job *j)
{
    struct sftp_client_pace pace = j->pace;
    int64_t now = clock_mono_us();

    if (pace.until_us != 0)
        pace.until_us -= (pace.until_us - now) / 3;
    sftp_client_set_pace(j->sftp, &pace);
}

static bool sftp_out_publish(struct job *j, struct err *err)
{
    fault_point(SFTP_STAGED);
    if (!call_commit(j->call)) /* another attempt may be under way */
        return err_set(err, ERR_TRANSIENT, EINTR, "the call was given up");
    keep_time(j);
    if (!rename_it(j, err)) {
        if (!sftp_client_is_lost(j->sftp)) {
            sftp_out_remove_temp(j);
            return err_context(err, "name %.100s", j->name);
        }
        if (!sftp_out_settle(j, err))
            return false;
    }
    fault_point(SFTP_NAMED);
    return true;
}

static bool sftp_out_deliver(struct job *j, bool *ret_met, struct err *err)
{
    *ret_met = false;
    if (!sftp_out_reach(j, err) || !sftp_out_sweep(j, err) ||
        !(j->self->replace ? sftp_out_may_replace : sftp_out_meet)(j, ret_met, err))
        return false;
    if (!*ret_met)
        return sftp_out_stage(j, err) && sftp_out_publish(j, err);
    if (j->left != SFTP_MISSING) /* the server died in the middle of a rename */
        sftp_out_remove_temp(j);
    return true;
}

/* ---- verdicts ---- */

static void sftp_out_judge(struct verdict *v, const struct err *err, const char *before)
{
    enum verdict_kind kind = VERDICT_UNREACHED;

    v->hung = err->sys == ETIMEDOUT; /* it stands still: no more of it for now */
    if (err->kind == ERR_PERMANENT || err->kind == ERR_LIMIT)
        kind = VERDICT_FAILED;
    else if (err->kind == ERR_UNCERTAIN)
        kind = VERDICT_DOUBT;
    else if (err->sys == SSH_LINK_LOGIN)
        kind = VERDICT_CREDENTIAL;
    else if (err->sys == SSH_LINK_HOST_KEY)
        kind = VERDICT_STRANGE;
    else if (err->sys == EEXIST || err->sys == EINTR)
        kind = VERDICT_RETRY;
    (void)verdict_say(v, kind, "%s%s", before, err->text);
}

static struct job sftp_out_job_of(void *arg, const struct sending *s, struct call *c)
{
    struct sftp_out *self = arg;

    return (struct job){
        .self = self, .sending = s, .call = c, .pace = sftp_line_pace(&self->place, c)
    };
}

static void sftp_out_send(void *self, const struct sending *s, struct call *c, struct verdict *ret)
{
    struct job j = sftp_out_job_of(self, s, c);
    struct err err = { 0 };
    bool met = false;

    *ret = (struct verdict){ 0 };
    if (!sftp_out_make_names(&j, &err)) {
        sftp_out_judge(ret, &err, "");
        ret->code = dead_codes[DEAD_REJECTED];
        return;
    }
    if (sftp_out_deliver(&j, &met, &err))
        (void)verdict_say(ret, VERDICT_DELIVERED,
                          met ? "%s is there with these bytes" : "written as %s", j.name);
    else
        sftp_out_judge(ret, &err, "");
    drop_line(&j);
}

static void sftp_out_ask(void *self, const struct sending *s, struct call *c, struct verdict *ret)
{
    struct job j = sftp_out_job_of(self, s, c);
    enum sftp_found found = SFTP_MISSING;
    struct err err = { 0 };
    bool same = false;
    uint64_t size = 0;

    *ret = (struct verdict){ 0 };
    if (!sftp_out_make_names(&j, &err) || !sftp_out_reach(&j, &err) ||
        !sftp_client_look(j.sftp, str_of(j.path), &found, &size, &err) ||
        (found == SFTP_A_FILE && size == (uint64_t)s->size && !sftp_out_is_same(&j, &same, &err)))
        sftp_out_judge(ret, &err, "asked: ");
    else if (same)
        (void)verdict_say(ret, VERDICT_DELIVERED, "asked: %s is there with these bytes", j.name);
    else
        (void)verdict_say(ret, VERDICT_RETRY, "asked: %s is not there; it is written again",
                          j.name);
    if (found == SFTP_A_FILE && ret->kind == VERDICT_UNREACHED && err.sys == EACCES)
        ret->kind = VERDICT_DOUBT; /* it may not be read: asking again does not help */
    drop_line(&j);
}

/* ---- options ---- */

static const struct option options[] = {
    OPTION("url", OPT_URL, "the folder; /~/ is the user's own", .flags = OPT_REQUIRED,
           .words = OPTION_WORDS("sftp")),
    OPTIONS(grammar_login),
    OPTIONS(grammar_ssh),
    OPTIONS(grammar_file_name),
    OPTIONS(grammar_exists),
    OPTION_CONNECTIONS("4"),
    { 0 },
};

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct sftp_out *self = ARENA_NEW(s->arena, struct sftp_out);
    struct str name, exists;

    if (!sftp_place_read(s, &self->place, err) || !settings_text(s, "name", &name, err) ||
        !settings_text(s, "exists", &exists, err) ||
        !template_compile(name, s->arena, &self->name, err))
        return false;
    self->replace = str_is(exists, "replace");
    *ret_self = self;
    return true;
}

static void unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

static void sftp_out_probe(void *arg, struct call *c, struct probing *p)
{
    const struct sftp_out *self = arg;

    (void)probing_sftp(&self->place, true, self->place.timeout_us, c, p);
}

const struct endpoint_type endpoint_sftp = {
    .kind = { .name = "sftp",
              .help = "each document as a file on an SFTP server",
              .keys = options,
              .check = sftp_place_check },
    .make = make,
    .unmake = unmake,
    .send = sftp_out_send,
    .line = &sftp_line,
    .ask = sftp_out_ask,
    .probe = sftp_out_probe,
};
