#include "store/road/link.h"

#include "base/auto.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

bool link_add(struct writer *w, int64_t parent, enum link_kind kind, int64_t child, struct err *err)
{
    struct db_value row[] = { db_int(parent), db_int(kind), db_int(child) };

    return db_batch(w->db, SQL_LINK_ADD, DB_NO_SLOT, row, 3, 1, err);
}

static void read_child(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct link_child *)to = (struct link_child){ db_get_int(row, LINK_CHILDREN_KIND),
                                                    db_get_int(row, LINK_CHILDREN_CHILD) };
}

bool link_children(struct store *s, int64_t parent, int64_t kind, struct link_child after,
                   struct link_child *ret, size_t limit, size_t *ret_count, struct err *err)
{
    require(limit > 0 && limit <= LINK_PAGE_MOST);
    if (after.kind < kind)
        after = (struct link_child){ kind, 0 };
    return store_collect(s, SQL_LINK_CHILDREN,
                         DB_ARGS(db_int(parent), db_int(after.kind), db_int(after.num),
                                 db_int(kind != 0 ? kind : LINK_KINDS), db_int(limit)),
                         ROWS_INTO(ret, limit, NULL, read_child), ret_count, err);
}

bool link_parent(struct store *s, int64_t child, enum link_kind kind, int64_t *ret, struct err *err)
{
    return store_one_int(s, SQL_LINK_PARENTS, DB_ARGS(db_int(child), db_int(kind), db_int(1)), 0,
                         ret, err);
}
