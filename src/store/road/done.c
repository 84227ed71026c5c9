#include "store/road/done.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "core/retain_rule.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

struct done_days {
    pthread_mutex_t mutex;
    size_t count;
    struct {
        int64_t day;
        bool recent;
    } days[DONE_DAYS_MOST];
};

struct done_days *done_days_new(void)
{
    struct done_days *d = NEW(struct done_days);

    (void)pthread_mutex_init(&d->mutex, NULL);
    return d;
}

void done_days_free(struct done_days *d)
{
    free(d);
}

static _Atomic int64_t floor_day;

void done_set_floor(int64_t today)
{
    atomic_store(&floor_day, today);
}

int64_t done_floor(void)
{
    return atomic_load(&floor_day);
}

int64_t done_day(int64_t keep_days)
{
    int64_t today = clock_wall_us() / RETAIN_DAY_US, least = done_floor();

    return retain_day(today > least ? today : least, keep_days);
}

/* With the mutex held; d->count if the day is not known. */
static size_t done_find(const struct done_days *d, int64_t day)
{
    size_t i = 0;

    while (i < d->count && d->days[i].day != day)
        i++;
    return i;
}

/* A day that finds no room is not remembered: done_ready() then runs its statement each time. */
static void done_remember(struct done_days *d, int64_t day, bool recent)
{
    (void)pthread_mutex_lock(&d->mutex);
    size_t i = done_find(d, day);

    if (i == d->count && d->count < DONE_DAYS_MOST) {
        d->days[d->count].day = day;
        d->days[d->count++].recent = false;
    }
    if (i < d->count)
        d->days[i].recent |= recent;
    (void)pthread_mutex_unlock(&d->mutex);
}

static bool done_is_known(struct done_days *d, int64_t day)
{
    (void)pthread_mutex_lock(&d->mutex);
    bool known = done_find(d, day) < d->count;

    (void)pthread_mutex_unlock(&d->mutex);
    return known;
}

static bool is_recent(struct db *db, int64_t day, int64_t indexed, bool *ret, struct err *err)
{
    int64_t top;

    if (!db_one_int_slot(db, SQL_DONE_TOP, day, DB_NO_ARGS, 0, &top, err))
        return false;
    *ret = top > indexed;
    return true;
}

bool done_days_load(struct done_days *d, struct db *db, int64_t indexed, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row, recent = false;

    if (!db_query(db, SQL_PART_ALL, DB_ARGS(db_int(TABLES_DONE)), &rows, err))
        return false;
    for (;;) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            return true;
        int64_t day = db_get_int(&rows, 0);

        if (db->kind == DB_SQLITE && !is_recent(db, day, indexed, &recent, err))
            return false;
        done_remember(d, day, recent);
    }
}

/* SQLite gets only the index by state: the others run behind the write (index.h). */
bool done_make(struct db *db, int64_t day, struct err *err)
{
    static const enum sql_id all[] = { SQL_DONE_INDEX_STATE,  SQL_DONE_INDEX,
                                       SQL_DONE_INDEX_SENDER, SQL_DONE_INDEX_RECEIVER,
                                       SQL_DONE_INDEX_TYPE,   SQL_DONE_INDEX_SIZE,
                                       SQL_DONE_INDEX_NAME };
    size_t count = db->kind == DB_SQLITE ? 1 : sizeof all / sizeof all[0];

    if (!db_run_slot(db, SQL_DONE_MAKE, day, DB_NO_ARGS, NULL, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!db_run_slot(db, all[i], day, DB_NO_ARGS, NULL, err))
            return false;
    return db->kind == DB_SQLITE || day == RETAIN_KEPT_DAY ||
           db_run_slot(db, SQL_DONE_UNTIDIED, day, DB_NO_ARGS, NULL, err);
}

bool done_ready(struct writer *w, int64_t day, struct err *err)
{
    int64_t added;

    if (done_is_known(w->store->done_days, day))
        return true;
    /* Insert the row first: a concurrent transaction that makes the same table waits for it. */
    if (!db_run(w->db, SQL_PART_ADD, DB_ARGS(db_int(TABLES_DONE), db_int(day)), &added, err))
        return false;
    return added == 0 || done_make(w->db, day, err);
}

void done_used(struct store *s, int64_t day)
{
    done_remember(s->done_days, day, true);
}

void done_gone(struct store *s, int64_t day)
{
    struct done_days *d = s->done_days;

    (void)pthread_mutex_lock(&d->mutex);
    size_t i = done_find(d, day);

    if (i < d->count)
        d->days[i] = d->days[--d->count];
    (void)pthread_mutex_unlock(&d->mutex);
}

size_t done_recent(struct store *s, int64_t days[static DONE_DAYS_MOST])
{
    struct done_days *d = s->done_days;
    size_t n = 0;

    (void)pthread_mutex_lock(&d->mutex);
    for (size_t i = 0; i < d->count; i++)
        if (d->days[i].recent)
            days[n++] = d->days[i].day;
    (void)pthread_mutex_unlock(&d->mutex);
    return n;
}

/* ---- tables made ahead ---- */

struct keep_op {
    struct store_op op;
    int64_t day, next;
};

static bool done_keep_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    const struct keep_op *k = container_of(ops[0], struct keep_op, op);

    require(count == 1);
    return done_ready(w, k->day, err) && done_ready(w, k->next, err);
}

static void done_keep_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct keep_op *k = container_of(ops[0], struct keep_op, op);

    require(count == 1);
    done_remember(w->store->done_days, k->day, false);
    done_remember(w->store->done_days, k->next, false);
}

static const struct store_verb keep_verb = { .name = "keep tables of days",
                                             .notes = true,
                                             .run = done_keep_run,
                                             .committed = done_keep_committed };

bool done_keep_tables(struct store *s, int64_t keep_days, struct err *err)
{
    int64_t today = done_day(0);
    struct keep_op k = { .day = retain_day(today, keep_days),
                         .next = retain_day(today + 1, keep_days) };

    if (done_is_known(s->done_days, k.day) && done_is_known(s->done_days, k.next))
        return true;
    return writers_call(s->writers, &keep_verb, &k.op, err);
}

/* A table made since `days` was read is forgotten, too: done_ready() finds it again. */
static void forget_others(struct done_days *d, const int64_t *days, size_t count)
{
    (void)pthread_mutex_lock(&d->mutex);
    for (size_t i = d->count; i-- > 0;) {
        size_t k = 0;

        while (k < count && days[k] != d->days[i].day)
            k++;
        if (k == count)
            d->days[i] = d->days[--d->count];
    }
    (void)pthread_mutex_unlock(&d->mutex);
}

bool done_refresh(struct store *s, struct err *err)
{
    int64_t days[DONE_DAYS_MOST];
    size_t n;

    if (s->kind == DB_SQLITE)
        return true;
    if (!store_ints(s, SQL_PART_ALL, DB_ARGS(db_int(TABLES_DONE)), days, DONE_DAYS_MOST, &n, err))
        return false;
    forget_others(s->done_days, days, n);
    return true;
}
