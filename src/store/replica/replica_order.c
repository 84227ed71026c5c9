#include "store/replica/replica_order.h"

#include "base/container_of.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/replica/replica_text.h"

const char *const replica_wishes[REPLICA_WISHES] = { "resync", "go-on", "verify" };

struct order_put_op {
    struct store_op op;
    const struct replica_order *order;
};

static bool order_put_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    const struct replica_order *o = container_of(ops[0], struct order_put_op, op)->order;
    int64_t id;

    require(count == 1);
    return mark_take(w, "replica", &id, err) &&
           db_run(w->db, SQL_REPLICA_ORDER_PUT,
                  DB_ARGS(db_int(id), db_text(o->link), db_text(o->table), db_int(o->wish),
                          db_text(o->detail), db_text(replica_text(w->arena, o->by)),
                          db_text(replica_text(w->arena, o->why))),
                  NULL, err);
}

static const struct store_verb order_put_verb = { .name = "order of a link", .run = order_put_run };

bool replica_order_put(struct store *s, const struct replica_order *order, struct err *err)
{
    struct order_put_op o = { .order = order };

    require(order->wish < REPLICA_WISHES);
    return writers_call(s->writers, &order_put_verb, &o.op, err);
}

static void order_read(struct db_rows *row, struct arena *a, void *to)
{
    struct replica_order *o = to;
    int64_t wish = db_get_int(row, REPLICA_ORDER_WISH);

    *o = (struct replica_order){ .id = db_get_int(row, REPLICA_ORDER_ID),
                                 .link = row_text(row, REPLICA_ORDER_LINK, a),
                                 .table = row_text(row, REPLICA_ORDER_TABLE_NAME, a),
                                 .detail = row_text(row, REPLICA_ORDER_DETAIL, a),
                                 .by = row_text(row, REPLICA_ORDER_ASKED_BY, a),
                                 .why = row_text(row, REPLICA_ORDER_WHY, a),
                                 .at_us = db_get_int(row, REPLICA_ORDER_AT_US) };
    if (wish >= 0 && wish < REPLICA_WISHES)
        o->wish = (enum replica_wish)wish;
    else
        row_is_damaged(row);
}

bool replica_order_get(struct store *s, enum replica_wish wish, struct str link, struct str table,
                       struct arena *a, bool *ret_has, struct replica_order *ret, struct err *err)
{
    return store_one(s, SQL_REPLICA_ORDER_GET, DB_ARGS(db_text(link), db_text(table), db_int(wish)),
                     order_read, a, ret, ret_has, err);
}

bool replica_order_drop(struct store *s, int64_t id, struct err *err)
{
    return store_change(s,
                        &(struct store_change){ .sql = SQL_REPLICA_ORDER_DROP,
                                                .args = DB_ARGS(db_int(id)),
                                                .silent = true },
                        NULL, err);
}
