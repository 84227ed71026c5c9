#include "store/payload/payload_days.h"

#include <stdatomic.h>

#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

enum {
    REST_ROWS = 2000,      /* so many may be copied to let the rest of a table go */
    REST_BYTES = 32 << 20, /* of payload, the same */
    WORN_BYTES = 8 << 20,  /* a smaller table is not worth a copy */
    WORN_MOST = 16
};

int64_t payload_day(const struct store *s)
{
    return atomic_load_explicit(&s->payload_day, memory_order_relaxed);
}

/* ---- making ---- */

struct keep_days_op {
    struct store_op op;
    int64_t today;
};

static bool make_day(struct writer *w, int64_t day, struct err *err)
{
    int64_t added;

    /* Insert the row first: a concurrent transaction that makes the same table waits for it. */
    return db_run(w->db, SQL_PART_ADD, DB_ARGS(db_int(TABLES_PAYLOAD), db_int(day)), &added, err) &&
           (added == 0 || db_run_slot(w->db, SQL_PAYLOAD_MAKE, day, DB_NO_ARGS, NULL, err));
}

static bool keep_days_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct keep_days_op *o = container_of(ops[0], struct keep_days_op, op);

    require(count == 1);
    return db_one_int(w->db, SQL_PAYLOAD_TODAY, DB_NO_ARGS, 0, &o->today, err) &&
           make_day(w, o->today, err) && make_day(w, o->today + 1, err);
}

static const struct store_verb keep_days_verb = { .name = "keep payload tables",
                                                  .run = keep_days_run,
                                                  .notes = true };

bool payload_days_keep(struct store *s, struct err *err)
{
    struct keep_days_op o = { 0 };

    if (s->kind != DB_POSTGRESQL)
        return true;
    if (!writers_call(s->writers, &keep_days_verb, &o.op, err))
        return false;
    atomic_store(&s->payload_day, o.today);
    return true;
}

/* ---- giving space back ---- */

struct worn {
    int64_t day, bytes;
};

struct tidy_op {
    struct store_op op;
    struct worn table;
    int64_t freed;
};

/* A new table of the same name with what is left. */
static bool copy_rest(struct writer *w, int64_t day, struct err *err)
{
    static const enum sql_id steps[] = { SQL_PAYLOAD_OLD, SQL_PAYLOAD_ANEW, SQL_PAYLOAD_REST,
                                         SQL_PAYLOAD_OLD_DROP };

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (!db_run_slot(w->db, steps[i], day, DB_NO_ARGS, NULL, err))
            return false;
    return true;
}

static bool drop_day(struct writer *w, int64_t day, struct err *err)
{
    return db_run_slot(w->db, SQL_PAYLOAD_DROP, day, DB_NO_ARGS, NULL, err) &&
           db_run(w->db, SQL_PART_DROP, DB_ARGS(db_int(TABLES_PAYLOAD), db_int(day)), NULL, err);
}

/* The table is locked first, without waiting: who reads or writes it comes first. */
static bool tidy_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct tidy_op *o = container_of(ops[0], struct tidy_op, op);
    int64_t day = o->table.day, rows, bytes, turn;

    require(count == 1);
    o->freed = 0;
    if (!db_one_int(w->db, SQL_RETAIN_TURN, DB_NO_ARGS, 0, &turn, err))
        return false;
    if (turn == 0)
        return true;
    if (!db_run_slot(w->db, SQL_PAYLOAD_LOCK, day, DB_NO_ARGS, NULL, err) ||
        !db_one_int_slot(w->db, SQL_PAYLOAD_LEFT, day, DB_ARGS(db_int(REST_ROWS + 1)), 0, &rows,
                         err) ||
        !db_one_int_slot(w->db, SQL_PAYLOAD_LEFT_BYTES, day, DB_ARGS(db_int(REST_ROWS + 1)), 0,
                         &bytes, err))
        return false;
    if (rows == 0 && day != 0) {
        o->freed = o->table.bytes;
        return drop_day(w, day, err);
    }
    if (rows > REST_ROWS || bytes > REST_BYTES || bytes > o->table.bytes / 4)
        return true;
    o->freed = o->table.bytes - bytes;
    return copy_rest(w, day, err);
}

static const struct store_verb tidy_verb = {
    .name = "tidy payload tables", .run = tidy_run, .apart = true, .notes = true
};

static void read_worn(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct worn *)to =
        (struct worn){ db_get_int(row, PAYLOAD_WORN_DAY), db_get_int(row, PAYLOAD_WORN_BYTES) };
}

bool payload_days_tidy(struct store *s, int64_t *ret_bytes, struct err *err)
{
    struct worn worn[WORN_MOST];
    size_t n;

    *ret_bytes = 0;
    if (s->kind != DB_POSTGRESQL)
        return true;
    if (!store_collect(s, SQL_PAYLOAD_WORN, DB_ARGS(db_int(REST_ROWS), db_int(WORN_BYTES)),
                       ROWS_INTO(worn, WORN_MOST, NULL, read_worn), &n, err))
        return false;
    for (size_t i = 0; i < n && *ret_bytes == 0; i++) {
        struct tidy_op o = { .table = worn[i] };
        struct err why = { 0 };

        if (writers_call(s->writers, &tidy_verb, &o.op, &why))
            *ret_bytes = o.freed;
        else if (why.kind != ERR_TRANSIENT) { /* transient: the table is in use; later */
            *err = why;
            return false;
        }
    }
    return true;
}
