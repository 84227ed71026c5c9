#include "store/people/caller.h"

#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/audit/audit.h"
#include "store/kernel/store_state.h"

struct change_op {
    struct store_op op;
    bool add;
    int64_t gateway, changed;
    struct str name, title;
    struct sha256 secret;
};

/* For which gateway it was, and its title. */
static bool note_drop(struct writer *w, struct change_op *o, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    AUTO(buf_done) struct buf was = BUF_INIT(64 << 10);
    bool there;

    if (!db_query(w->db, SQL_CALLER_GET, DB_ARGS(db_text(o->name)), &rows, err) ||
        !db_next(&rows, &there, err))
        return false;
    if (!there)
        return true;
    buf_put(&was, store_word_name(w->store, db_get_int(&rows, 0)));
    if (!db_is_null(&rows, 1))
        buf_printf(&was, ": %.*s", STR_ARG(str_first(db_get_str(&rows, 1), AUDIT_TEXT_MOST)));
    audit_note(w, &o->op, o->name, buf_view(&was), STR("removed"));
    return true;
}

static bool change_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct change_op *o = container_of(ops[0], struct change_op, op);
    int64_t id;

    require(count == 1);
    if (!db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("caller")), db_int(1)), 0, &id, err))
        return false;
    if (!o->add)
        return note_drop(w, o, err) &&
               db_run(w->db, SQL_CALLER_DROP, DB_ARGS(db_text(o->name)), &o->changed, err);
    audit_note(w, &o->op, o->name, (struct str){ 0 }, (struct str){ 0 });
    return db_run(w->db, SQL_CALLER_ADD,
                  DB_ARGS(db_int(id), db_text(o->name), db_int(o->gateway),
                          o->title.len > 0 ? db_text(o->title) : db_null(),
                          db_bytes(str_mem(o->secret.bytes, SHA256_SIZE))),
                  NULL, err);
}

static const struct store_verb change_verb = { .name = "change callers",
                                               .run = change_run,
                                               .notes = true };

bool caller_add(struct store *s, int64_t gateway, struct str title, char ret_name[static KEY_NAME],
                char ret_key[static KEY_TEXT], struct err *err)
{
    struct change_op o = { .add = true, .gateway = gateway, .title = title };

    o.secret = key_make(ret_name, ret_key);
    o.name = str_of(ret_name);
    return writers_call(s->writers, &change_verb, &o.op, err);
}

bool caller_remove(struct store *s, struct str name, bool *ret_was_there, struct err *err)
{
    struct change_op o = { .name = name };

    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    *ret_was_there = o.changed == 1;
    return true;
}

static bool read_name(struct db *db, int64_t id, struct arena *a, struct str *ret, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    *ret = (struct str){ 0 };
    if (!db_query(db, SQL_CALLER_NAME, DB_ARGS(db_int(id)), &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    if (row)
        *ret = arena_copy(a, db_get_str(&rows, 0));
    return true;
}

bool caller_name(struct store *s, int64_t id, struct arena *a, struct str *ret, struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = read_name(db, id, a, ret, err);

    store_reader_back(s, db);
    return ok;
}

bool caller_mark(struct store *s, int64_t *ret, struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = db_one_int(db, SQL_CALLER_MARK, DB_NO_ARGS, 0, ret, err);

    store_reader_back(s, db);
    return ok;
}

static bool read_all(struct db *db, struct arena *a, struct caller **ret, size_t *ret_count,
                     struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    struct caller *all = NULL;
    size_t n = 0, room = 0;
    bool row;

    if (!db_query(db, SQL_CALLER_ALL, DB_NO_ARGS, &rows, err))
        return false;
    for (;;) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        if (n == CALLERS_MOST)
            return err_set(err, ERR_LIMIT, 0, "more than %d keys", CALLERS_MOST);
        if (n == room) {
            struct caller *more = ARENA_ARRAY(a, struct caller, room * 2 + 16);

            if (n > 0)
                memcpy(more, all, n * sizeof *all);
            all = more;
            room = room * 2 + 16;
        }
        struct str secret = db_get_str(&rows, 4);
        struct caller *c = &all[n++];

        require(secret.len == SHA256_SIZE);
        *c = (struct caller){ .id = db_get_int(&rows, 0),
                              .gateway = db_get_int(&rows, 2),
                              .made_us = db_get_int(&rows, 5) };
        memcpy(c->secret.bytes, secret.ptr, secret.len);
        c->name = arena_copy(a, db_get_str(&rows, 1));
        c->title = arena_copy(a, db_get_str(&rows, 3));
    }
    *ret = all;
    *ret_count = n;
    return true;
}

bool caller_list(struct store *s, struct arena *a, struct caller **ret, size_t *ret_count,
                 struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = read_all(db, a, ret, ret_count, err);

    store_reader_back(s, db);
    return ok;
}
