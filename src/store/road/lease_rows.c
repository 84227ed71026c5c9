#include "store/road/lease_rows.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"

struct claimed {
    int64_t id, claim;
};

struct noted {
    struct noted *next;
    struct claimed claimed;
};

struct leases {
    pthread_mutex_t mutex;
    struct claimed *unsure;
    size_t count, room;
};

struct leases *leases_new(void)
{
    struct leases *l = NEW(struct leases);

    (void)pthread_mutex_init(&l->mutex, NULL);
    return l;
}

void leases_free(struct leases *l)
{
    if (l == NULL)
        return;
    free(l->unsure);
    free(l);
}

/* ---- tasks that are claimed at birth ---- */

enum { LEASE = 8 };

struct lease_rows lease_begin(struct writer *w, size_t most)
{
    return (struct lease_rows){ .values = ARENA_ARRAY(w->arena, struct db_value, most * LEASE) };
}

bool lease_put(struct writer *w, struct lease_rows *rows, struct task *t, struct err *err)
{
    if (w->birth_claim == 0 &&
        !db_one_int(w->db, SQL_CLAIM_NUMBER, DB_NO_ARGS, 0, &w->birth_claim, err))
        return false;
    struct db_value *v = rows->values + rows->count++ * LEASE;

    t->claim = w->birth_claim;
    t->until_us = clock_wall_us() + task_lease_us();
    v[0] = db_int(t->id);
    v[1] = db_int(t->claim);
    v[2] = db_int(store_node(w->store));
    v[3] = db_int(task_lease_us());
    v[4] = db_int(t->queue);
    v[5] = db_int(t->prio);
    v[6] = db_int(t->rank);
    v[7] = db_int(t->kind);
    lease_note(w, t);
    return true;
}

bool lease_write(struct writer *w, const struct lease_rows *rows, struct err *err)
{
    return db_batch(w->db, SQL_TASK_LEASE_ADD, DB_NO_SLOT, rows->values, LEASE, rows->count, err);
}

/* ---- claims of uncertain commits ---- */

void lease_note(struct writer *w, const struct task *t)
{
    struct noted *n = ARENA_ARRAY(w->arena, struct noted, 1);

    *n = (struct noted){ .next = w->leased, .claimed = { t->id, t->claim } };
    w->leased = n;
}

static void lease_rows_put(struct leases *l, const struct claimed *claims, size_t count)
{
    (void)pthread_mutex_lock(&l->mutex);
    if (count > LEASES_UNSURE_MOST - l->count)
        count = LEASES_UNSURE_MOST - l->count;
    while (l->room < l->count + count) {
        l->room = l->room == 0 ? 256 : l->room * 2;
        l->unsure = xrealloc(l->unsure, l->room * sizeof *l->unsure);
    }
    for (size_t i = 0; i < count; i++)
        l->unsure[l->count++] = claims[i];
    (void)pthread_mutex_unlock(&l->mutex);
}

void lease_unsure(struct writer *w)
{
    for (const struct noted *n = w->leased; n != NULL; n = n->next)
        lease_rows_put(w->store->leases, &n->claimed, 1);
}

void lease_give_up(struct store *s, const struct task *t)
{
    lease_rows_put(s->leases, &(struct claimed){ t->id, t->claim }, 1);
}

enum { RETURN_MOST = 256 };

struct return_op {
    struct store_op op;
    struct claimed claims[RETURN_MOST];
    size_t count;
    int64_t moved;
};

static bool return_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct return_op *o = container_of(ops[0], struct return_op, op);

    require(count == 1);
    o->moved = 0;
    for (size_t i = 0; i < o->count; i++) {
        int64_t n;

        if (!db_run(w->db, SQL_TASK_UNCLAIM,
                    DB_ARGS(db_int(o->claims[i].id), db_int(o->claims[i].claim)), &n, err))
            return false;
        o->moved += n;
    }
    return true;
}

static const struct store_verb return_verb = { .name = "return", .run = return_run };

static size_t lease_rows_take(struct leases *l, struct claimed *ret)
{
    (void)pthread_mutex_lock(&l->mutex);
    size_t n = l->count < RETURN_MOST ? l->count : RETURN_MOST;

    l->count -= n;
    for (size_t i = 0; i < n; i++)
        ret[i] = l->unsure[l->count + i];
    (void)pthread_mutex_unlock(&l->mutex);
    return n;
}

bool lease_return(struct store *s, int64_t *ret_count, struct err *err)
{
    struct return_op o = { 0 };

    *ret_count = 0;
    while ((o.count = lease_rows_take(s->leases, o.claims)) > 0) {
        if (!writers_call(s->writers, &return_verb, &o.op, err)) {
            lease_rows_put(s->leases, o.claims, o.count);
            return false;
        }
        *ret_count += o.moved;
    }
    return true;
}
