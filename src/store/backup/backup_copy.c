#include "store/backup/backup_copy.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/backup/backup.h"
#include "store/db/db_copy.h"
#include "store/kernel/store_state.h"

enum {
    STEP_PAGES = 64,
    BUSY_US = 2 * CLOCK_MS, /* length of a slice while operations wait */
    IDLE_US = 50 * CLOCK_MS,
};

struct backup_copy {
    struct store_op op;
    const char *path;
    struct backup_progress *progress;
    struct db_copy *copy;
    struct backup_mark mark;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool over, ok;
    struct err err;
};

/* ---- the writer ---- */

static void backup_copy_tell(struct store *s, struct backup_copy *c, bool ok)
{
    if (c->copy != NULL)
        db_copy_detach(c->copy);
    s->copy = NULL;
    (void)pthread_mutex_lock(&c->mutex);
    c->over = true;
    c->ok = ok;
    (void)pthread_cond_signal(&c->changed);
    (void)pthread_mutex_unlock(&c->mutex);
}

static bool backup_copy_begin_run(struct writer *w, struct store_op **ops, size_t count,
                                  struct err *err)
{
    (void)w;
    (void)ops;
    (void)err;
    require(count == 1);
    return true;
}

/* Runs after the commit, because a copy needs that no transaction is open. */
static void begin_committed(struct writer *w, struct store_op **ops, size_t count)
{
    struct backup_copy *c = container_of(ops[0], struct backup_copy, op);

    require(count == 1 && w->store->copy == NULL);
    if (db_copy_begin(w->db, c->path, &c->copy, &c->err))
        w->store->copy = c;
    else
        backup_copy_tell(w->store, c, false);
}

static const struct store_verb begin_verb = { .name = "begin a backup",
                                              .run = backup_copy_begin_run,
                                              .committed = begin_committed };

/* No document in the copy has a higher number; the block may reach beyond the last one used. */
static bool note_mark(struct writer *w, struct backup_copy *c)
{
    c->mark.at_us = clock_wall_us();
    c->mark.end = segments_end(w->segments);
    return db_one_int(w->db, SQL_MARK_GET, DB_ARGS(db_text(STR("num"))), 0, &c->mark.num, &c->err);
}

bool backup_copy_slice(struct writer *w)
{
    struct backup_copy *c = w->store->copy;
    int64_t from = clock_mono_us(), left, total;
    bool done = false, ok = true;

    while (ok && !done) {
        int64_t took = clock_mono_us() - from;

        if (took >= IDLE_US || (took >= BUSY_US && writers_waiting(w->all) > 0))
            return true;
        if (c->progress->stop)
            ok = err_set(&c->err, ERR_TRANSIENT, 0, "the node stops");
        ok = ok && db_copy_step(c->copy, STEP_PAGES, &done, &left, &total, &c->err);
        if (ok) {
            c->progress->total = total;
            c->progress->done = total - left;
        }
    }
    fault_point(BACKUP_COPIED);
    backup_copy_tell(w->store, c, ok && note_mark(w, c));
    return false;
}

/* ---- the caller ---- */

bool backup_copy_take(struct store *s, const char *path, struct backup_progress *p,
                      struct backup_mark *ret, struct err *err)
{
    struct backup_copy c = { .path = path, .progress = p };

    (void)pthread_mutex_init(&c.mutex, NULL);
    (void)pthread_cond_init(&c.changed, NULL);
    if (!writers_call(s->writers, &begin_verb, &c.op, err))
        return false;
    (void)pthread_mutex_lock(&c.mutex);
    while (!c.over)
        (void)pthread_cond_wait(&c.changed, &c.mutex);
    (void)pthread_mutex_unlock(&c.mutex);
    *ret = c.mark;
    *err = c.err;
    return db_copy_end(c.copy, c.ok ? err : &c.err) && c.ok;
}
