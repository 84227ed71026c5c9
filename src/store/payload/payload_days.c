#include "store/payload/payload_days.h"

#include <stdatomic.h>

#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

enum {
    REST_BYTES = 32 << 20, /* so much payload may be copied to let the rest of a table go */
    WORN_BYTES = 8 << 20,  /* a smaller table is not worth a copy */
    WORN_MOST = 16
};

/* Tables of one kind: their family, the beginning of their names, and their statements. */
struct day_tables {
    enum table_family family;
    const char *name;
    int64_t rest_rows; /* so many may be copied */
    enum sql_id make, drop, lock, left, left_bytes;
    enum sql_id renew[4]; /* a new table of the same name with what is left */
};

static const struct day_tables kinds[DAY_TABLES] = {
    { .family = TABLES_PAYLOAD,
      .name = "payload_",
      .rest_rows = 2000,
      .make = SQL_PAYLOAD_MAKE,
      .drop = SQL_PAYLOAD_DROP,
      .lock = SQL_PAYLOAD_LOCK,
      .left = SQL_PAYLOAD_LEFT,
      .left_bytes = SQL_PAYLOAD_LEFT_BYTES,
      .renew = { SQL_PAYLOAD_OLD, SQL_PAYLOAD_ANEW, SQL_PAYLOAD_REST, SQL_PAYLOAD_OLD_DROP } },
    { .family = TABLES_PIECE,
      .name = "payload_piece_",
      .rest_rows = 200,
      .make = SQL_PIECE_MAKE,
      .drop = SQL_PIECE_DROP,
      .lock = SQL_PIECE_LOCK,
      .left = SQL_PIECE_LEFT,
      .left_bytes = SQL_PIECE_LEFT_BYTES,
      .renew = { SQL_PIECE_OLD, SQL_PIECE_ANEW, SQL_PIECE_REST, SQL_PIECE_OLD_DROP } },
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

static bool make_table_of_day(struct writer *w, const struct day_tables *k, int64_t day,
                              struct err *err)
{
    int64_t added;

    /* Insert the row first: a concurrent transaction that makes the same table waits for it. */
    return db_run(w->db, SQL_PART_ADD, DB_ARGS(db_int(k->family), db_int(day)), &added, err) &&
           (added == 0 || db_run_slot(w->db, k->make, day, DB_NO_ARGS, NULL, err));
}

static bool make_day(struct writer *w, int64_t day, struct err *err)
{
    for (size_t i = 0; i < DAY_TABLES; i++)
        if (!make_table_of_day(w, &kinds[i], day, err))
            return false;
    return true;
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
    const struct day_tables *kind;
    struct worn table;
    int64_t freed;
};

static bool copy_rest(struct writer *w, const struct tidy_op *o, struct err *err)
{
    for (size_t i = 0; i < sizeof o->kind->renew / sizeof o->kind->renew[0]; i++)
        if (!db_run_slot(w->db, o->kind->renew[i], o->table.day, DB_NO_ARGS, NULL, err))
            return false;
    return true;
}

static bool drop_day(struct writer *w, const struct tidy_op *o, struct err *err)
{
    struct db_value day = db_int(o->table.day);

    return db_run_slot(w->db, o->kind->drop, o->table.day, DB_NO_ARGS, NULL, err) &&
           db_run(w->db, SQL_PART_DROP, DB_ARGS(db_int(o->kind->family), day), NULL, err);
}

/* What is left: rows up to one more than may be copied, and their bytes.  The table is locked
 * first, without waiting: who reads or writes it comes first. */
static bool count_left(struct writer *w, const struct tidy_op *o, int64_t *ret_rows,
                       int64_t *ret_bytes, struct err *err)
{
    const struct day_tables *k = o->kind;
    struct db_args most = DB_ARGS(db_int(k->rest_rows + 1));

    return db_run_slot(w->db, k->lock, o->table.day, DB_NO_ARGS, NULL, err) &&
           db_one_int_slot(w->db, k->left, o->table.day, most, 0, ret_rows, err) &&
           db_one_int_slot(w->db, k->left_bytes, o->table.day, most, 0, ret_bytes, err);
}

static bool tidy_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct tidy_op *o = container_of(ops[0], struct tidy_op, op);
    int64_t rows, bytes, turn;

    require(count == 1);
    o->freed = 0;
    if (!db_one_int(w->db, SQL_RETAIN_TURN, DB_NO_ARGS, 0, &turn, err))
        return false;
    if (turn == 0)
        return true;
    if (!count_left(w, o, &rows, &bytes, err))
        return false;
    if (rows == 0 && o->table.day != 0) {
        o->freed = o->table.bytes;
        return drop_day(w, o, err);
    }
    if (o->table.bytes < WORN_BYTES || rows > o->kind->rest_rows || bytes > REST_BYTES ||
        bytes > o->table.bytes / 4)
        return true;
    o->freed = o->table.bytes - bytes;
    return copy_rest(w, o, err);
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

/* A small table is worth a lock only when it is empty. */
static bool is_worth_it(struct store *s, const struct day_tables *k, const struct worn *table,
                        bool *ret, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    int64_t rows = 0;

    if (r.db == NULL ||
        (table->bytes < WORN_BYTES &&
         !db_one_int_slot(r.db, k->left, table->day, DB_ARGS(db_int(1)), 0, &rows, err)))
        return false;
    *ret = rows == 0;
    return true;
}

/* Looks at the next tables of a kind; behind the last ones the first come again. */
static bool tidy_kind(struct store *s, size_t kind, int64_t *ret_bytes, struct err *err)
{
    const struct day_tables *k = &kinds[kind];
    struct worn worn[WORN_MOST];
    int64_t from = atomic_load(&s->payload_tidy_from[kind]);
    size_t n;

    if (!store_collect(s, SQL_PAYLOAD_WORN,
                       DB_ARGS(db_int(k->family), db_text(str_of(k->name)), db_int(k->rest_rows),
                               db_int(WORN_BYTES), db_int(from)),
                       ROWS_INTO(worn, WORN_MOST, NULL, read_worn), &n, err))
        return false;
    for (size_t i = 0; i < n && *ret_bytes == 0; i++) {
        struct tidy_op o = { .kind = k, .table = worn[i] };
        struct err why = { 0 };
        bool worth = false;

        if (is_worth_it(s, k, &worn[i], &worth, &why) && worth &&
            writers_call(s->writers, &tidy_verb, &o.op, &why))
            *ret_bytes = o.freed;
        if (why.kind != ERR_NONE && why.kind != ERR_TRANSIENT) { /* transient: in use, or gone */
            *err = why;
            return false;
        }
        atomic_store(&s->payload_tidy_from[kind], worn[i].day + 1);
    }
    if (n < WORN_MOST && *ret_bytes == 0)
        atomic_store(&s->payload_tidy_from[kind], 0);
    return true;
}

bool payload_days_tidy(struct store *s, int64_t *ret_bytes, struct err *err)
{
    *ret_bytes = 0;
    if (s->kind != DB_POSTGRESQL)
        return true;
    for (size_t kind = 0; kind < DAY_TABLES && *ret_bytes == 0; kind++)
        if (!tidy_kind(s, kind, ret_bytes, err))
            return false;
    return true;
}
