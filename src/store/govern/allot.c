#include "store/govern/allot.h"

#include <stdlib.h>

#include "base/container_of.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

/* What the other nodes of a system have, and how many of them come first. */
struct others {
    int64_t held, before;
};

static void read_others(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct others *)to = (struct others){ .held = db_get_int(row, ALLOT_OTHERS_HELD),
                                            .before = db_get_int(row, ALLOT_OTHERS_BEFORE) };
}

static bool allot_one(struct writer *w, struct allot_op *o, struct err *err)
{
    struct db_value system = db_int(o->system), node = db_int(store_node(w->store));
    struct others others = { 0 };
    int64_t turn;
    bool there;

    if (!db_one_int(w->db, SQL_ALLOT_LOCK, DB_ARGS(system), 0, &turn, err) ||
        !rows_one(w->db, SQL_ALLOT_OTHERS, DB_NO_SLOT, DB_ARGS(system, node), read_others, NULL,
                  &others, &there, err))
        return false;
    int64_t room = o->most - others.held - others.before; /* one slot for each that comes first */

    room = o->upto < room ? o->upto : room;
    o->granted = room > o->keep ? room : o->keep;
    return db_run(w->db, SQL_ALLOT_PUT,
                  DB_ARGS(system, node, db_int(o->granted),
                          db_int(o->wants && o->granted < o->most), db_int(turn)),
                  NULL, err);
}

static int allot_by_system(const void *a, const void *b)
{
    const struct allot_op *const *x = a, *const *y = b;

    return ((*x)->system > (*y)->system) - ((*x)->system < (*y)->system);
}

static bool allot_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct allot_op **all = ARENA_ARRAY(w->arena, struct allot_op *, count);

    for (size_t i = 0; i < count; i++)
        all[i] = container_of(ops[i], struct allot_op, op);
    qsort(all, count, sizeof(struct allot_op *), allot_by_system);
    for (size_t i = 0; i < count; i++)
        if (!allot_one(w, all[i], err))
            return false;
    return true;
}

const struct store_verb allot_verb = { .name = "allot", .run = allot_run, .apart = true };

static void read_allotted(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct allotted *)to = (struct allotted){ .system = db_get_int(row, ALLOT_ALL_SYSTEM),
                                                .total = db_get_int(row, ALLOT_ALL_TOTAL),
                                                .wanting = db_get_int(row, ALLOT_ALL_WANTING),
                                                .waiting = db_get_int(row, ALLOT_ALL_WAITING) };
}

bool allot_list(struct store *s, struct allotted *ret, size_t most, size_t *ret_count,
                struct err *err)
{
    return store_collect(s, SQL_ALLOT_ALL, DB_ARGS(db_int(store_node(s)), db_int(most)),
                         ROWS_INTO(ret, most, NULL, read_allotted), ret_count, err);
}
