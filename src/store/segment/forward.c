#include "store/segment/forward.h"

#include <sqlite3.h>

bool forward_find(struct db *db, struct payload_ref *io_place)
{
    sqlite3_stmt *stmt = NULL;
    bool found = sqlite3_prepare_v2(db_sqlite_handle(db),
                                    "SELECT to_seg, to_pos FROM moved WHERE seg = ?1 AND pos = ?2",
                                    -1, &stmt, NULL) == SQLITE_OK;

    if (found) {
        (void)sqlite3_bind_int64(stmt, 1, io_place->seg);
        (void)sqlite3_bind_int64(stmt, 2, io_place->pos);
        found = sqlite3_step(stmt) == SQLITE_ROW;
    }
    if (found)
        *io_place = (struct payload_ref){ .seg = sqlite3_column_int64(stmt, 0),
                                          .pos = sqlite3_column_int64(stmt, 1) };
    (void)sqlite3_finalize(stmt);
    return found;
}
