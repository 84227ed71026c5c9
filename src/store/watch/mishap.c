#include "store/watch/mishap.h"

#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

struct add_op {
    struct store_op op;
    const struct mishap *list;
    size_t count;
};

static bool add_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct add_op *o = container_of(ops[0], struct add_op, op);

    require(count == 1);
    for (size_t i = 0; i < o->count; i++) {
        const struct mishap *m = &o->list[i];

        if (!db_run(w->db, SQL_MISHAP_ADD,
                    DB_ARGS(db_text(m->code), db_text(m->object), db_text(m->message),
                            db_int(m->count), db_int(m->first_us), db_int(m->last_us)),
                    NULL, err))
            return false;
    }
    return db_run(w->db, SQL_MISHAP_PRUNE, DB_ARGS(db_int(MISHAPS_MOST - 1)), NULL, err);
}

static const struct store_verb add_verb = { .name = "mishap", .run = add_run, .notes = true };

bool mishap_add(struct store *s, const struct mishap *list, size_t count, struct err *err)
{
    struct add_op o = { .list = list, .count = count };

    require(count <= MISHAPS_MOST);
    return count == 0 || writers_call(s->writers, &add_verb, &o.op, err);
}

static bool read_all(struct db *db, struct arena *a, struct mishap *ret, size_t most,
                     size_t *ret_count, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    size_t n = 0;
    bool row;

    if (!db_query(db, SQL_MISHAP_ALL, DB_ARGS(db_int((int64_t)most)), &rows, err))
        return false;
    while (n < most) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        ret[n++] = (struct mishap){ .code = arena_copy(a, db_get_str(&rows, 0)),
                                    .object = arena_copy(a, db_get_str(&rows, 1)),
                                    .message = arena_copy(a, db_get_str(&rows, 2)),
                                    .count = db_get_int(&rows, 3),
                                    .first_us = db_get_int(&rows, 4),
                                    .last_us = db_get_int(&rows, 5) };
    }
    *ret_count = n;
    return true;
}

bool mishap_list(struct store *s, struct arena *a, struct mishap *ret, size_t most,
                 size_t *ret_count, struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = read_all(db, a, ret, most, ret_count, err);

    store_reader_back(s, db);
    return ok;
}
