#include "store/kernel/reader.h"

#include "base/auto.h"
#include "store/kernel/store.h"

struct reader reader_take(struct store *s, struct err *err)
{
    return (struct reader){ .store = s, .db = store_reader(s, err) };
}

void reader_back(struct reader *r)
{
    if (r->db != NULL)
        store_reader_back(r->store, r->db);
    r->db = NULL;
}

bool store_collect(struct store *s, enum sql_id id, struct db_args args, struct rows_into *into,
                   size_t *ret_count, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);

    return r.db != NULL && rows_collect(r.db, id, DB_NO_SLOT, args, into, ret_count, err);
}

bool store_one(struct store *s, enum sql_id id, struct db_args args, rows_read *read,
               struct arena *a, void *ret, bool *ret_found, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);

    return r.db != NULL && rows_one(r.db, id, DB_NO_SLOT, args, read, a, ret, ret_found, err);
}

bool store_ints(struct store *s, enum sql_id id, struct db_args args, int64_t *ret, size_t most,
                size_t *ret_count, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);

    return r.db != NULL && rows_ints(r.db, id, args, ret, most, ret_count, err);
}

bool store_one_int(struct store *s, enum sql_id id, struct db_args args, int64_t otherwise,
                   int64_t *ret, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);

    return r.db != NULL && db_one_int(r.db, id, args, otherwise, ret, err);
}

bool store_mark(struct store *s, const char *name, int64_t *ret, struct err *err)
{
    return store_one_int(s, SQL_MARK_GET, DB_ARGS(db_text(str_of(name))), 0, ret, err);
}
