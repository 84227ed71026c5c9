#include "store/watch/mishap.h"

#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

struct add_op {
    struct store_op op;
    const struct mishap *list;
    size_t count;
};

static bool mishap_add_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
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

static const struct store_verb add_verb = { .name = "mishap",
                                            .run = mishap_add_run,
                                            .notes = true };

bool mishap_add(struct store *s, const struct mishap *list, size_t count, struct err *err)
{
    struct add_op o = { .list = list, .count = count };

    require(count <= MISHAPS_MOST);
    return count == 0 || writers_call(s->writers, &add_verb, &o.op, err);
}

static void read_mishap(struct db_rows *row, struct arena *a, void *to)
{
    *(struct mishap *)to = (struct mishap){ .code = row_text(row, MISHAP_ALL_CODE, a),
                                            .object = row_text(row, MISHAP_ALL_OBJECT, a),
                                            .message = row_text(row, MISHAP_ALL_MESSAGE, a),
                                            .count = db_get_int(row, MISHAP_ALL_N),
                                            .first_us = db_get_int(row, MISHAP_ALL_FIRST_US),
                                            .last_us = db_get_int(row, MISHAP_ALL_LAST_US) };
}

bool mishap_list(struct store *s, struct arena *a, struct mishap *ret, size_t most,
                 size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_MISHAP_ALL, DB_ARGS(db_int(most)),
                         ROWS_INTO(ret, most, a, read_mishap), ret_count, err);
}
