/* fake_deposit.h - a store of documents that is a folder, for tests of gateways that look.
 *
 * A document is a file named after its key, with the name and the bytes in it; it is there when
 * commit returned, also when the process is killed after that.  The ledger is a folder too.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/file.h"
#include "core/deposit.h"

struct fake {
    int store, ledger; /* folders */
    const char *noted; /* files with names that begin so are in the ledger as well; NULL: none */
    int64_t size_most;
    bool stopping;
    int stop_after; /* documents that were begun; 0: never */
    enum err_kind open_fails, put_fails, commit_fails;
    int begun, commits, repeats, complaints, asked; /* asked: the ledger */
    char complained[80], why[200];
    void (*at_put)(void *arg); /* in the middle of reading */
    void (*at_commit)(void *arg);
    void *arg;
};

struct deposit {
    struct fake *fake;
    struct buf bytes;
};

static bool fake_open(void *arg, struct str name, struct str ctype, struct deposit **ret,
                      struct err *err)
{
    struct fake *f = arg;

    (void)ctype;
    if (f->open_fails != ERR_NONE)
        return err_set(err, f->open_fails, 0, "the store has no room");
    f->begun++;
    f->stopping = f->stopping || (f->stop_after > 0 && f->begun >= f->stop_after);
    *ret = NEW(struct deposit);
    **ret = (struct deposit){ .fake = f, .bytes = BUF_INIT(64 << 20) };
    buf_put(&(*ret)->bytes, name);
    buf_putc(&(*ret)->bytes, '\n');
    return true;
}

static void fake_abandon(struct deposit *d)
{
    buf_done(&d->bytes);
    free(d);
}

static bool fake_put(struct deposit *d, struct str bytes, struct err *err)
{
    if (d->fake->at_put != NULL)
        d->fake->at_put(d->fake->arg);
    if (d->fake->put_fails != ERR_NONE)
        return err_set(err, d->fake->put_fails, 0, "the store is full");
    return buf_append(&d->bytes, bytes, err);
}

static bool fake_commit(struct deposit *d, struct str key, struct id *ret_id, bool *ret_repeated,
                        struct err *err)
{
    struct fake *f = d->fake;
    struct sha256 sha = digest_of(key);
    char name[SHA256_TEXT];
    bool ok = f->commit_fails == ERR_NONE ||
              err_set(err, f->commit_fails, 0, "the store cannot be reached");

    (void)digest_text(&sha, name);
    *ret_repeated = faccessat(f->store, name, F_OK, 0) == 0;
    *ret_id = (struct id){ 0 };
    if (ok && !*ret_repeated)
        ok = publish_bytes(f->store, name, buf_view(&d->bytes), 0600, err);
    f->commits += ok && !*ret_repeated;
    f->repeats += ok && *ret_repeated;
    if (ok && f->at_commit != NULL)
        f->at_commit(f->arg);
    fake_abandon(d);
    return ok;
}

static void fake_commit_all(struct deposit_commit *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        list[i].ok =
            fake_commit(list[i].deposit, list[i].key, &list[i].id, &list[i].repeated, &list[i].err);
}

static bool fake_alive(void *arg, struct err *err)
{
    (void)arg;
    (void)err;
    return true;
}

static bool fake_seen(void *arg, struct str key, bool *ret, struct err *err)
{
    struct fake *f = arg;
    struct sha256 sha = digest_of(key);
    struct str facts, file = str_cut(key, '\n', &facts);
    char name[SHA256_TEXT];

    (void)err;
    f->asked++;
    *ret = (f->noted != NULL && str_starts(file, str_of(f->noted))) ||
           faccessat(f->ledger, digest_text(&sha, name), F_OK, 0) == 0;
    return true;
}

static bool fake_note_seen(void *arg, struct str key, struct err *err)
{
    struct sha256 sha = digest_of(key);
    char name[SHA256_TEXT];

    return publish_bytes(((struct fake *)arg)->ledger, digest_text(&sha, name), key, 0600, err);
}

static bool fake_stopping(void *arg)
{
    return ((struct fake *)arg)->stopping;
}

static int64_t fake_size_most(void *arg)
{
    return ((struct fake *)arg)->size_most;
}

static void fake_complain(void *arg, struct str name, const char *why, const char *hint)
{
    struct fake *f = arg;

    (void)hint;
    f->complaints++;
    (void)snprintf(f->complained, sizeof f->complained, "%.*s", STR_ARG(name));
    (void)snprintf(f->why, sizeof f->why, "%s", why);
}

static const struct deposit_port fake_port = { .open = fake_open,
                                               .put = fake_put,
                                               .commit = fake_commit,
                                               .commit_all = fake_commit_all,
                                               .abandon = fake_abandon,
                                               .seen = fake_seen,
                                               .note_seen = fake_note_seen,
                                               .stopping = fake_stopping,
                                               .alive = fake_alive,
                                               .size_most = fake_size_most,
                                               .complain = fake_complain };
