#include "store/govern/folder.h"

#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

static void read_folder(struct db_rows *row, struct arena *a, void *to)
{
    *(struct folder_row *)to =
        (struct folder_row){ .part = row_text(row, FOLDER_PART, a),
                             .path = row_text(row, FOLDER_PATH, a),
                             .id = { .fs = (uint64_t)db_get_int(row, FOLDER_FS),
                                     .fsid = (uint64_t)db_get_int(row, FOLDER_FSID),
                                     .ino = (uint64_t)db_get_int(row, FOLDER_INO),
                                     .dev = (uint64_t)db_get_int(row, FOLDER_DEV) },
                             .mount = db_get_int(row, FOLDER_MOUNT) != 0,
                             .seen_us = db_get_int(row, FOLDER_SEEN_US),
                             .accepted_us = db_get_int(row, FOLDER_ACCEPTED_US),
                             .accepted_by = row_text(row, FOLDER_ACCEPTED_BY, a) };
}

bool folder_find(struct store *s, int64_t owner, struct str part, struct str path, struct arena *a,
                 struct folder_row *ret, bool *ret_there, struct err *err)
{
    return store_one(s, SQL_FOLDER_ONE,
                     DB_ARGS(db_int(store_node(s)), db_int(owner), db_text(part), db_text(path)),
                     read_folder, a, ret, ret_there, err);
}

bool folder_learn(struct store *s, int64_t owner, struct str part, struct str path,
                  const struct folder_id *id, bool mount, struct err *err)
{
    return store_change(
        s,
        &(struct store_change){ .sql = SQL_FOLDER_LEARN,
                                .args = DB_ARGS(db_int(store_node(s)), db_int(owner), db_text(part),
                                                db_text(path), db_int((int64_t)id->fs),
                                                db_int((int64_t)id->fsid), db_int((int64_t)id->ino),
                                                db_int((int64_t)id->dev), db_int(mount)),
                                .silent = true },
        NULL, err);
}

bool folder_accept(struct store *s, int64_t owner, const struct folder_row *row, struct str by,
                   bool *ret_was, struct err *err)
{
    const struct folder_id *id = &row->id;

    return store_change_one(
        s,
        &(struct store_change){ .sql = SQL_FOLDER_ACCEPT,
                                .args = DB_ARGS(db_int(store_node(s)), db_int(owner),
                                                db_text(row->part), db_text(row->path),
                                                db_int((int64_t)id->fs), db_int((int64_t)id->fsid),
                                                db_int((int64_t)id->ino), db_int((int64_t)id->dev),
                                                db_int(row->mount), db_text(by)) },
        ret_was, err);
}

bool folder_list(struct store *s, int64_t owner, struct arena *a, struct folder_row *ret,
                 size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_FOLDER_ALL,
                         DB_ARGS(db_int(store_node(s)), db_int(owner), db_int(FOLDERS_MOST)),
                         ROWS_INTO(ret, FOLDERS_MOST, a, read_folder), ret_count, err);
}
