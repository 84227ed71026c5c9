#include "store/govern/endpoint_state.h"

#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

struct change_op {
    struct store_op op;
    const struct endpoint_state *put; /* NULL: the row goes */
    int64_t endpoint;
    bool breaker;
};

static bool change_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct change_op *o = container_of(ops[0], struct change_op, op);
    const struct endpoint_state *e = o->put;

    require(count == 1);
    if (e == NULL)
        return db_run(w->db, SQL_ENDPOINT_STATE_DROP,
                      DB_ARGS(db_int(o->endpoint), db_int(o->breaker)), NULL, err);
    return db_run(w->db, SQL_ENDPOINT_STATE_PUT,
                  DB_ARGS(db_int(e->endpoint), db_int(e->breaker), db_int(e->node),
                          db_int(e->since_us), db_int(e->until_us), db_text(e->message)),
                  NULL, err);
}

static const struct store_verb change_verb = { .name = "endpoint state",
                                               .run = change_run,
                                               .notes = true };

bool endpoint_state_put(struct store *s, const struct endpoint_state *state, struct err *err)
{
    struct change_op o = { .put = state };

    return writers_call(s->writers, &change_verb, &o.op, err);
}

bool endpoint_state_drop(struct store *s, int64_t endpoint, bool breaker, struct err *err)
{
    struct change_op o = { .endpoint = endpoint, .breaker = breaker };

    return writers_call(s->writers, &change_verb, &o.op, err);
}

static bool read_all(struct db *db, struct arena *a, struct endpoint_state *ret, size_t most,
                     size_t *ret_count, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    size_t n = 0;
    bool row;

    if (!db_query(db, SQL_ENDPOINT_STATE_ALL, DB_ARGS(db_int((int64_t)most)), &rows, err))
        return false;
    while (n < most) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        ret[n++] = (struct endpoint_state){ .endpoint = db_get_int(&rows, 0),
                                            .breaker = db_get_int(&rows, 1) != 0,
                                            .node = db_get_int(&rows, 2),
                                            .since_us = db_get_int(&rows, 3),
                                            .until_us = db_get_int(&rows, 4),
                                            .message = arena_copy(a, db_get_str(&rows, 5)) };
    }
    *ret_count = n;
    return true;
}

bool endpoint_state_list(struct store *s, struct arena *a, struct endpoint_state *ret, size_t most,
                         size_t *ret_count, struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = read_all(db, a, ret, most, ret_count, err);

    store_reader_back(s, db);
    return ok;
}
