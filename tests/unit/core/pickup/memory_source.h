/* memory_source.h - a folder and a store of documents in memory, for tests of pickup.h.
 *
 * Every call of the source can be made to fail, and every path that a call gets is checked: it must
 * be one that passes safe_path(), whatever names the listing gives.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/safe_path.h"
#include "core/deposit.h"
#include "core/pickup/pickup.h"

enum { MEMORY_FILES = 256, MEMORY_DOCS = 2048, MEMORY_NOTES = 2048 };

enum memory_call {
    CALL_ANY,
    CALL_LIST,
    CALL_NEXT,
    CALL_STAT,
    CALL_OPEN,
    CALL_READ,
    CALL_SAME,
    CALL_REMOVE,
    CALL_MOVE,
    CALL_RENAME,
    CALL_MAKE_FOLDER,
    CALL_SYNC,
};

struct memory_file {
    char *path, *bytes;
    enum pickup_kind kind;
    int64_t time_ns;
    int number; /* another one for each content */
};

struct memory_doc {
    char *key, *name, *bytes;
};

struct memory {
    struct memory_file files[MEMORY_FILES];
    struct memory_doc docs[MEMORY_DOCS];
    char *notes[MEMORY_NOTES];
    size_t doc_count, note_count;
    int numbers, commits, repeats, complaints, lists, moved, unsafe;
    int64_t many;      /* files in the folder that are made up while it is listed, youngest first */
    int64_t folders;   /* the same for empty sub folders */
    const char *alone; /* the name of the only entry of a listing, any bytes; NULL: no such */
    int64_t size_most;
    bool stopping, turn_lost;
    bool flat;         /* a listing has everything, by its path */
    int groups, turns; /* commits; how often the turn was kept */
    char complained[300], why[200];

    /* The n-th call of this kind fails so. */
    enum memory_call fail_call;
    int fail_nth, calls, hits;
    enum err_kind fail_kind;
    int fail_sys;

    /* Called before each call of the source with its path. */
    void (*at_call)(struct memory *m, enum memory_call call, const char *path);
    void (*at_commit)(struct memory *m);
};

struct memory_list {
    struct memory *memory;
    char *folder;
    size_t at;
    int64_t made;
    char name[32];
};

struct memory_open {
    struct memory *memory;
    char *path, *bytes;
    size_t at;
};

/* ---- the folder ---- */

static struct memory_file *memory_find(struct memory *m, const char *path)
{
    for (size_t i = 0; i < MEMORY_FILES; i++)
        if (m->files[i].path != NULL && strcmp(m->files[i].path, path) == 0)
            return &m->files[i];
    return NULL;
}

static void memory_drop(struct memory_file *f)
{
    free(f->path);
    free(f->bytes);
    *f = (struct memory_file){ 0 };
}

/* Writes a file; one that is there gets another content. */
static void memory_put(struct memory *m, const char *path, const char *bytes, int64_t time_ns)
{
    struct memory_file *f = memory_find(m, path);

    for (size_t i = 0; f == NULL && i < MEMORY_FILES; i++)
        if (m->files[i].path == NULL)
            f = &m->files[i];
    if (f == NULL)
        abort();
    memory_drop(f);
    *f = (struct memory_file){
        .path = xstrdup(path), .bytes = xstrdup(bytes), .time_ns = time_ns, .number = ++m->numbers
    };
}

static void memory_folder(struct memory *m, const char *path)
{
    memory_put(m, path, "", 0);
    memory_find(m, path)->kind = PICKUP_FOLDER;
}

static size_t memory_count_files(const struct memory *m)
{
    size_t n = 0;

    for (size_t i = 0; i < MEMORY_FILES; i++)
        n += m->files[i].path != NULL && m->files[i].kind != PICKUP_FOLDER;
    return n;
}

/* ---- calls that may fail ---- */

static bool memory_call(struct memory *m, enum memory_call call, const char *path, struct err *err)
{
    struct err why = { 0 };

    if (path[0] != '\0' && !safe_path(str_of(path), &why))
        m->unsafe++;
    if (m->at_call != NULL)
        m->at_call(m, call, path);
    if (m->fail_nth == 0 || (m->fail_call != CALL_ANY && m->fail_call != call) ||
        ++m->calls != m->fail_nth)
        return true;
    m->hits++;
    return err_set(err, m->fail_kind, m->fail_sys, "the server said no");
}

static bool memory_missing(struct err *err)
{
    return err_set(err, ERR_TRANSIENT, ENOENT, "not there");
}

static void memory_fill(const struct memory_file *f, struct pickup_entry *e)
{
    e->bare = false;
    e->kind = f->kind;
    e->size = (int64_t)strlen(f->bytes);
    e->time_ns = f->time_ns;
    (void)snprintf(e->version, sizeof e->version, "v%d", f->number);
}

static bool memory_source_list(void *arg, const char *folder, void **ret_list, struct err *err)
{
    struct memory *m = arg;

    if (!memory_call(m, CALL_LIST, folder, err))
        return false;
    if (folder[0] != '\0' && memory_find(m, folder) == NULL)
        return memory_missing(err);
    struct memory_list *l = NEW(struct memory_list);

    *l = (struct memory_list){ .memory = m, .folder = xstrdup(folder) };
    m->lists++;
    *ret_list = l;
    return true;
}

/* The name of the file in the folder that is listed, or NULL. */
static const char *memory_name_in(const char *folder, const char *path)
{
    size_t len = strlen(folder);

    if (len > 0) {
        if (strncmp(path, folder, len) != 0 || path[len] != '/')
            return NULL;
        path += len + 1;
    }
    return strchr(path, '/') == NULL ? path : NULL;
}

static bool memory_source_next(void *list, struct pickup_entry *ret, bool *ret_end, struct err *err)
{
    struct memory_list *l = list;
    struct memory *m = l->memory;

    *ret_end = false;
    if (!memory_call(m, CALL_NEXT, "", err))
        return false;
    while (l->at < MEMORY_FILES) {
        const struct memory_file *f = &m->files[l->at++];
        const char *name = f->path == NULL ? NULL
                           : m->flat       ? f->path
                                           : memory_name_in(l->folder, f->path);

        if (name == NULL)
            continue;
        ret->name = str_of(name);
        memory_fill(f, ret);
        return true;
    }
    if (l->folder[0] == '\0' && m->alone != NULL && l->made++ == 0) {
        ret->name = str_of(m->alone);
        (void)snprintf(ret->version, sizeof ret->version, "alone");
        return true;
    }
    if (l->folder[0] == '\0' && l->made < m->folders) {
        (void)snprintf(l->name, sizeof l->name, "sub %lld", (long long)l->made++);
        ret->name = str_of(l->name);
        ret->kind = PICKUP_FOLDER;
        return true;
    }
    if (l->folder[0] == '\0' && l->made < m->many) {
        ret->time_ns = m->many - l->made;
        (void)snprintf(l->name, sizeof l->name, "many %lld", (long long)ret->time_ns);
        ret->name = str_of(l->name);
        ret->size = 1;
        (void)snprintf(ret->version, sizeof ret->version, "%lld", (long long)ret->time_ns);
        l->made++;
        return true;
    }
    *ret_end = true;
    return true;
}

static void memory_source_end(void *list)
{
    struct memory_list *l = list;

    free(l->folder);
    free(l);
}

static bool memory_source_stat(void *arg, const char *path, struct pickup_entry *ret,
                               struct err *err)
{
    struct memory *m = arg;

    if (!memory_call(m, CALL_STAT, path, err))
        return false;
    const struct memory_file *f = memory_find(m, path);

    if (f == NULL)
        return memory_missing(err);
    memory_fill(f, ret);
    return true;
}

static bool memory_source_open(void *arg, const char *path, struct pickup_entry *ret,
                               void **ret_file, struct err *err)
{
    struct memory *m = arg;

    if (!memory_call(m, CALL_OPEN, path, err))
        return false;
    const struct memory_file *f = memory_find(m, path);
    bool made = f == NULL && m->many > 0 && strncmp(path, "many ", 5) == 0;

    if (f == NULL && !made)
        return memory_missing(err);
    if (made) {
        ret->size = 1;
        (void)snprintf(ret->version, sizeof ret->version, "%s", path + 5);
    } else {
        memory_fill(f, ret);
    }
    struct memory_open *o = NEW(struct memory_open);

    *o = (struct memory_open){ .memory = m,
                               .path = xstrdup(path),
                               .bytes = xstrdup(made ? "x" : f->bytes) };
    *ret_file = o;
    return true;
}

static bool memory_source_read(void *file, char *to, size_t room, size_t *ret_len, struct err *err)
{
    struct memory_open *o = file;
    size_t rest = strlen(o->bytes) - o->at;

    if (!memory_call(o->memory, CALL_READ, o->path, err))
        return false;
    *ret_len = rest < room ? rest : room;
    memcpy(to, o->bytes + o->at, *ret_len);
    o->at += *ret_len;
    return true;
}

static bool memory_source_same(void *file, const char *version, bool *ret, struct err *err)
{
    const struct memory_open *o = file;
    struct pickup_entry e = { 0 };

    if (!memory_call(o->memory, CALL_SAME, o->path, err))
        return false;
    const struct memory_file *f = memory_find(o->memory, o->path);

    if (f != NULL)
        memory_fill(f, &e);
    *ret = f == NULL || strcmp(e.version, version) == 0;
    return true;
}

static void memory_source_close(void *file)
{
    struct memory_open *o = file;

    free(o->path);
    free(o->bytes);
    free(o);
}

static bool memory_source_remove(void *arg, const char *path, struct err *err)
{
    struct memory *m = arg;

    if (!memory_call(m, CALL_REMOVE, path, err))
        return false;
    struct memory_file *f = memory_find(m, path);

    if (f == NULL)
        return memory_missing(err);
    memory_drop(f);
    return true;
}

static bool memory_source_rename(void *arg, const char *from, const char *to, struct err *err)
{
    struct memory *m = arg;
    struct err why = { 0 };

    if (!memory_call(m, CALL_RENAME, from, err))
        return false;
    struct memory_file *f = memory_find(m, from);

    m->unsafe += !safe_path(str_of(to), &why);
    if (f == NULL)
        return memory_missing(err);
    if (memory_find(m, to) != NULL)
        return err_set(err, ERR_TRANSIENT, EEXIST, "the name is taken");
    free(f->path);
    f->path = xstrdup(to);
    return true;
}

static bool memory_source_move(void *arg, const char *path, const char *name, struct err *err)
{
    struct memory *m = arg;
    char to[300];

    if (!memory_call(m, CALL_MOVE, path, err))
        return false;
    (void)snprintf(to, sizeof to, ".moved/%s", name);
    enum memory_call call = m->fail_call;

    m->fail_call = CALL_MOVE; /* it is one call */
    bool ok = memory_source_rename(m, path, to, err);

    m->fail_call = call;
    m->moved += ok;
    return ok;
}

static bool memory_source_make_folder(void *arg, const char *path, struct err *err)
{
    struct memory *m = arg;

    if (!memory_call(m, CALL_MAKE_FOLDER, path, err))
        return false;
    if (memory_find(m, path) == NULL)
        memory_folder(m, path);
    return true;
}

static void memory_source_remove_folder(void *arg, const char *path)
{
    struct memory *m = arg;
    struct memory_file *f = memory_find(m, path);

    for (size_t i = 0; i < MEMORY_FILES; i++)
        if (m->files[i].path != NULL && memory_name_in(path, m->files[i].path) != NULL)
            return;
    if (f != NULL)
        memory_drop(f);
}

static bool memory_source_sync(void *arg, const char *folder, struct err *err)
{
    return memory_call(arg, CALL_SYNC, folder, err);
}

static const struct pickup_source memory_source = {
    .claims = true,
    .list = memory_source_list,
    .next = memory_source_next,
    .end = memory_source_end,
    .stat = memory_source_stat,
    .open = memory_source_open,
    .read = memory_source_read,
    .same = memory_source_same,
    .close = memory_source_close,
    .remove = memory_source_remove,
    .move = memory_source_move,
    .rename = memory_source_rename,
    .make_folder = memory_source_make_folder,
    .remove_folder = memory_source_remove_folder,
    .sync = memory_source_sync,
};

/* ---- the store ---- */

struct deposit {
    struct memory *memory;
    struct buf bytes;
    char *name;
};

static bool memory_open_deposit(void *arg, struct str name, struct str ctype, struct deposit **ret,
                                struct err *err)
{
    (void)ctype;
    (void)err;
    *ret = NEW(struct deposit);
    **ret = (struct deposit){ .memory = arg, .bytes = BUF_INIT(1 << 20), .name = xstrndup(name) };
    return true;
}

static void memory_abandon(struct deposit *d)
{
    buf_done(&d->bytes);
    free(d->name);
    free(d);
}

static bool memory_put_bytes(struct deposit *d, struct str bytes, struct err *err)
{
    return buf_append(&d->bytes, bytes, err);
}

static bool memory_commit(struct deposit *d, struct str key, struct id *ret_id, bool *ret_repeated,
                          struct err *err)
{
    struct memory *m = d->memory;

    (void)err;
    *ret_id = (struct id){ 0 };
    *ret_repeated = false;
    for (size_t i = 0; i < m->doc_count; i++)
        *ret_repeated = *ret_repeated || str_is(key, m->docs[i].key);
    if (*ret_repeated)
        m->repeats++;
    else if (m->doc_count < MEMORY_DOCS)
        m->docs[m->doc_count++] = (struct memory_doc){ .key = xstrndup(key),
                                                       .name = xstrdup(d->name),
                                                       .bytes = xstrndup(buf_view(&d->bytes)) };
    m->commits += !*ret_repeated;
    if (m->at_commit != NULL)
        m->at_commit(m);
    memory_abandon(d);
    return true;
}

static void memory_commit_all(struct deposit_commit *list, size_t count)
{
    list[0].deposit->memory->groups++;
    for (size_t i = 0; i < count; i++)
        list[i].ok = memory_commit(list[i].deposit, list[i].key, &list[i].id, &list[i].repeated,
                                   &list[i].err);
}

static bool memory_alive(void *arg, struct err *err)
{
    struct memory *m = arg;

    m->turns++;
    return !m->turn_lost || err_set(err, ERR_TRANSIENT, 0, "another node took over");
}

static bool memory_seen(void *arg, struct str key, bool *ret, struct err *err)
{
    const struct memory *m = arg;

    (void)err;
    *ret = false;
    for (size_t i = 0; i < m->note_count; i++)
        *ret = *ret || str_is(key, m->notes[i]);
    return true;
}

static bool memory_note_seen(void *arg, struct str key, struct err *err)
{
    struct memory *m = arg;

    if (m->note_count == MEMORY_NOTES)
        return err_set(err, ERR_LIMIT, 0, "the ledger is full");
    m->notes[m->note_count++] = xstrndup(key);
    return true;
}

static bool memory_stopping(void *arg)
{
    return ((const struct memory *)arg)->stopping;
}

static int64_t memory_size_most(void *arg)
{
    return ((const struct memory *)arg)->size_most;
}

static void memory_complain(void *arg, struct str name, const char *why, const char *hint)
{
    struct memory *m = arg;

    m->complaints++;
    (void)snprintf(m->complained, sizeof m->complained, "%.*s", STR_ARG(name));
    (void)snprintf(m->why, sizeof m->why, "%s %s", why, hint);
}

static const struct deposit_port memory_port = { .open = memory_open_deposit,
                                                 .put = memory_put_bytes,
                                                 .commit = memory_commit,
                                                 .commit_all = memory_commit_all,
                                                 .abandon = memory_abandon,
                                                 .seen = memory_seen,
                                                 .note_seen = memory_note_seen,
                                                 .stopping = memory_stopping,
                                                 .alive = memory_alive,
                                                 .size_most = memory_size_most,
                                                 .complain = memory_complain };

static size_t memory_stored(const struct memory *m, const char *bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < m->doc_count; i++)
        n += strcmp(m->docs[i].bytes, bytes) == 0;
    return n;
}

static void memory_free(struct memory *m)
{
    for (size_t i = 0; i < MEMORY_FILES; i++)
        memory_drop(&m->files[i]);
    for (size_t i = 0; i < m->doc_count; i++) {
        free(m->docs[i].key);
        free(m->docs[i].name);
        free(m->docs[i].bytes);
    }
    for (size_t i = 0; i < m->note_count; i++)
        free(m->notes[i]);
    free(m);
}
