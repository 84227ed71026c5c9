#include "store/db/pg_lineage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/file.h"

struct pg_lineage {
    int data_fd;
    void (*report)(void *arg, const char *what, const struct err *err);
    void *arg;

    pthread_mutex_t mutex;
    int64_t system; /* 0: no server was seen yet */
    _Atomic int64_t timeline;
    bool written;          /* the file has both */
    char passed_over[200]; /* empty: nothing */
};

static bool pg_lineage_read(struct pg_lineage *l, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(100);
    struct err missing = { 0 };
    struct str line, system, timeline;
    int64_t number;

    if (!file_read_whole(l->data_fd, PG_LINEAGE_FILE, &text, &missing)) {
        if (missing.sys == ENOENT)
            return true;
        *err = missing;
        return false;
    }
    (void)str_cut(buf_view(&text), '\n', &line);
    timeline = str_cut(line, ' ', &system);
    if (!str_to_i64(system, &l->system) || !str_to_i64(timeline, &number))
        return err_set(err, ERR_CONFIG, 0,
                       "the file `" PG_LINEAGE_FILE
                       "` of the data folder is damaged: make sure that "
                       "`node.store` names the right server, then delete the file");
    l->timeline = number;
    l->written = true;
    return true;
}

bool pg_lineage_open(int data_fd,
                     void (*report)(void *arg, const char *what, const struct err *err), void *arg,
                     struct pg_lineage **ret, struct err *err)
{
    struct pg_lineage *l = NEW(struct pg_lineage);

    *l = (struct pg_lineage){ .data_fd = data_fd, .report = report, .arg = arg };
    (void)pthread_mutex_init(&l->mutex, NULL);
    if (!pg_lineage_read(l, err)) {
        pg_lineage_free(l);
        return false;
    }
    *ret = l;
    return true;
}

void pg_lineage_free(struct pg_lineage *l)
{
    free(l);
}

static bool pass_over(const struct pg_lineage *l, const struct pg_server *server, struct err *err)
{
    if (server->system != l->system)
        return err_set(err, ERR_TRANSIENT, PG_PASSED_OVER,
                       "the server %s is not a copy of this store's server; if the store was moved "
                       "there, delete the file `" PG_LINEAGE_FILE "` of the data folder",
                       server->place);
    return err_set(err, ERR_TRANSIENT, PG_PASSED_OVER,
                   "the server %s is an old primary (timeline %lld, the store is on %lld): what it "
                   "accepts is lost; stop it or make it a standby",
                   server->place, (long long)server->timeline, (long long)l->timeline);
}

/* With the mutex held.  Tried again with the next connection if it fails. */
static void pg_lineage_write(struct pg_lineage *l)
{
    struct err err = { 0 };
    char text[64];

    (void)snprintf(text, sizeof text, "%lld %lld\n", (long long)l->system, (long long)l->timeline);
    l->written = publish_bytes(l->data_fd, PG_LINEAGE_FILE, str_of(text), 0600, &err);
    if (!l->written)
        l->report(l->arg, "remember the server", &err);
}

bool pg_lineage_take(struct pg_lineage *l, const struct pg_server *server, struct err *err)
{
    bool ok = true;

    if (l == NULL)
        return true;
    (void)pthread_mutex_lock(&l->mutex);
    if (l->system != 0 && (server->system != l->system || server->timeline < l->timeline)) {
        ok = pass_over(l, server, err);
    } else {
        l->written = l->written && server->timeline == l->timeline;
        l->system = server->system;
        l->timeline = server->timeline;
        if (!l->written)
            pg_lineage_write(l);
    }
    (void)pthread_mutex_unlock(&l->mutex);
    return ok;
}

void pg_lineage_walked(struct pg_lineage *l, const struct err *passed_over)
{
    if (l == NULL)
        return;
    (void)pthread_mutex_lock(&l->mutex);
    (void)snprintf(l->passed_over, sizeof l->passed_over, "%s",
                   passed_over->kind != ERR_NONE ? passed_over->text : "");
    (void)pthread_mutex_unlock(&l->mutex);
}

bool pg_lineage_passed_over(struct pg_lineage *l, char *ret, size_t room)
{
    if (l == NULL)
        return false;
    (void)pthread_mutex_lock(&l->mutex);
    bool any = l->passed_over[0] != '\0';

    if (any)
        (void)snprintf(ret, room, "%s", l->passed_over);
    (void)pthread_mutex_unlock(&l->mutex);
    return any;
}

bool pg_lineage_is_over(struct pg_lineage *l, int64_t timeline)
{
    return l != NULL && timeline < atomic_load_explicit(&l->timeline, memory_order_relaxed);
}
