#include "store/manual/link.h"

#include "base/auto.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

bool link_add(struct writer *w, int64_t parent, enum link_kind kind, int64_t child, struct err *err)
{
    struct db_value row[] = { db_int(parent), db_int(kind), db_int(child) };

    return db_batch(w->db, SQL_LINK_ADD, DB_NO_SLOT, row, 3, 1, err);
}

static bool read_children(struct db *db, struct db_args args, struct link_child *ret,
                          size_t *ret_count, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    size_t n = 0;
    bool row;

    if (!db_query(db, SQL_LINK_CHILDREN, args, &rows, err))
        return false;
    for (;;) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        ret[n++] = (struct link_child){ db_get_int(&rows, 0), db_get_int(&rows, 1) };
    }
    *ret_count = n;
    return true;
}

bool link_children(struct store *s, int64_t parent, int64_t kind, struct link_child after,
                   struct link_child *ret, size_t limit, size_t *ret_count, struct err *err)
{
    struct db *db = store_reader(s, err);

    require(limit > 0 && limit <= LINK_PAGE_MOST);
    if (db == NULL)
        return false;
    if (after.kind < kind)
        after = (struct link_child){ kind, 0 };
    bool ok = read_children(db,
                            DB_ARGS(db_int(parent), db_int(after.kind), db_int(after.num),
                                    db_int(kind != 0 ? kind : LINK_KINDS), db_int(limit)),
                            ret, ret_count, err);

    store_reader_back(s, db);
    return ok;
}

bool link_parent(struct store *s, int64_t child, enum link_kind kind, int64_t *ret, struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = db_one_int(db, SQL_LINK_PARENTS, DB_ARGS(db_int(child), db_int(kind), db_int(1)), 0,
                         ret, err);

    store_reader_back(s, db);
    return ok;
}
