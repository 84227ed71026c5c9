#include "store/govern/record_table.h"

#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/change.h"
#include "store/kernel/names.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/set_record.h"

/* ---- sets ---- */

/* Another node may have made it. */
bool record_set_find(struct store *s, struct str name, int64_t *ret, struct err *err)
{
    return name_find(s, NAME_SET, name, ret) ||
           store_one_int(s, SQL_WORD_FIND, DB_ARGS(db_int(NAME_SET), db_text(name)), 0, ret, err);
}

bool record_set_id(struct store *s, struct str name, int64_t *ret, struct err *err)
{
    if (name_find(s, NAME_SET, name, ret))
        return true;
    if (name.len == 0 || name.len > RECORD_SET_NAME_MOST || !str_is_utf8(name) ||
        str_has_control(name))
        return err_set(err, ERR_LIMIT, 0, "a set of records has a name of 1 to %d bytes of text",
                       RECORD_SET_NAME_MOST);
    if (names_of_kind(s, NAME_SET) >= RECORD_SETS_MOST)
        return err_set(err, ERR_LIMIT, 0,
                       "there are %d sets of records already, and no more: say `set:` at the step, "
                       "or see whether the types of documents are what they should be",
                       RECORD_SETS_MOST);
    return name_add(s, NAME_SET, name, ret, err);
}

static void read_record_set(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct record_set *)to =
        (struct record_set){ .set = db_get_int(row, SET_RECORD_SETS_SET_ID),
                             .records = db_get_int(row, SET_RECORD_SETS_RECORDS),
                             .updated_us = db_get_int(row, SET_RECORD_SETS_UPDATED_US) };
}

/* Names that another node made are not in memory yet. */
static bool name_sets(struct store *s, struct record_set *list, size_t count, struct err *err)
{
    bool unknown = false;

    for (size_t i = 0; i < count; i++)
        unknown = unknown || name_text(s, list[i].set).len == 0;
    if (unknown && !names_load(s, err))
        return false;
    for (size_t i = 0; i < count; i++)
        list[i].name = name_text(s, list[i].set);
    return true;
}

bool record_sets(struct store *s, struct arena *a, struct record_set *ret, size_t *ret_count,
                 struct err *err)
{
    if (!store_collect(s, SQL_SET_RECORD_SETS, DB_ARGS(db_int(RECORD_SETS_MOST)),
                       ROWS_INTO(ret, RECORD_SETS_MOST, a, read_record_set), ret_count, err))
        return false;
    return name_sets(s, ret, *ret_count, err);
}

/* ---- looking ---- */

static void read_record_row(struct db_rows *row, struct arena *a, void *to)
{
    *(struct record_row *)to =
        (struct record_row){ .key = row_text(row, SET_RECORD_PAGE_KEY, a),
                             .size = db_get_int(row, SET_RECORD_PAGE_SIZE),
                             .version = db_get_int(row, SET_RECORD_PAGE_VERSION),
                             .updated_us = db_get_int(row, SET_RECORD_PAGE_UPDATED_US) };
}

bool records_page(struct store *s, int64_t set, struct str after, struct arena *a,
                  struct record_row *ret, size_t most, size_t *ret_count, struct err *err)
{
    require(most <= RECORD_PAGE_MOST);
    return store_collect(s, SQL_SET_RECORD_PAGE,
                         DB_ARGS(db_int(set), db_bytes(after), db_int((int64_t)most)),
                         ROWS_INTO(ret, most, a, read_record_row), ret_count, err);
}

/* ---- changing ---- */

struct import_op {
    struct store_op op;
    int64_t set;
    const struct record_put *list;
    size_t count;
    int64_t changed;
};

static bool import_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct import_op *o = container_of(ops[i], struct import_op, op);

        o->changed = 0;
        for (size_t k = 0; k < o->count; k++) {
            int64_t version, changed;

            if (!writer_number(w, &version, err) ||
                !db_run(w->db, SQL_SET_RECORD_IMPORT,
                        DB_ARGS(db_int(o->set), db_bytes(o->list[k].key),
                                db_bytes(o->list[k].value), db_int(version)),
                        &changed, err))
                return false;
            o->changed += changed;
        }
        o->op.nothing = o->changed == 0;
    }
    return true;
}

static const struct store_verb import_verb = {
    .name = "records", .run = import_run, .apart = true, .takes = true
};

bool records_import(struct store *s, int64_t set, const struct record_put *list, size_t count,
                    int64_t *ret_changed, struct err *err)
{
    struct import_op o = { .set = set, .list = list, .count = count };

    require(count <= RECORD_PORTION_MOST);
    for (size_t i = 0; i < count; i++)
        require(list[i].key.len <= SET_RECORD_KEY_MOST &&
                list[i].value.len <= SET_RECORD_VALUE_MOST);
    if (!writers_call(store_writers(s), &import_verb, &o.op, err))
        return false;
    *ret_changed = o.changed;
    return true;
}

bool records_remove(struct store *s, int64_t set, struct str key, int64_t *ret_count,
                    struct err *err)
{
    struct store_change one = { .sql = SQL_SET_RECORD_DROP,
                                .args = DB_ARGS(db_int(set), db_bytes(key)) };
    struct store_change some = { .sql = SQL_SET_RECORD_DROP_SOME,
                                 .args = DB_ARGS(db_int(set), db_int(RECORD_PORTION_MOST)) };

    return store_change(s, key.ptr != NULL ? &one : &some, ret_count, err);
}
