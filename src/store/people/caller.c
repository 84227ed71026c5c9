#include "store/people/caller.h"

#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/audit/audit.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

struct caller_op {
    struct store_op op;
    const struct caller *add; /* NULL: remove */
    int64_t changed;
    struct str name;
    struct sha256 secret;
};

/* Notes the gateway and title of a removed caller in the audit log. */
static bool note_drop(struct writer *w, struct caller_op *o, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    AUTO(buf_done) struct buf was = BUF_INIT(64 << 10);
    bool there;

    if (!db_query(w->db, SQL_CALLER_GET, DB_ARGS(db_text(o->name)), &rows, err) ||
        !db_next(&rows, &there, err))
        return false;
    if (!there)
        return true;
    buf_put(&was, name_text(w->store, db_get_int(&rows, CALLER_GET_GATEWAY)));
    if (!db_is_null(&rows, CALLER_GET_TITLE))
        buf_printf(&was, ": %.*s",
                   STR_ARG(str_first(db_get_str(&rows, CALLER_GET_TITLE), AUDIT_TEXT_MOST)));
    audit_note(w, &o->op, o->name, buf_view(&was), STR("removed"));
    return true;
}

static bool caller_change_run(struct writer *w, struct store_op **ops, size_t count,
                              struct err *err)
{
    struct caller_op *o = container_of(ops[0], struct caller_op, op);
    int64_t id;

    require(count == 1);
    if (!mark_take(w, "caller", &id, err))
        return false;
    const struct caller *k = o->add;

    if (k == NULL)
        return note_drop(w, o, err) &&
               db_run(w->db, SQL_CALLER_DROP, DB_ARGS(db_text(o->name)), &o->changed, err);
    audit_note(w, &o->op, o->name, (struct str){ 0 }, (struct str){ 0 });
    return db_run(w->db, SQL_CALLER_ADD,
                  DB_ARGS(db_int(id), db_text(o->name), db_int(k->gateway),
                          k->title.len > 0 ? db_text(k->title) : db_null(),
                          db_bytes(str_mem(o->secret.bytes, SHA256_SIZE)), db_text(k->systems),
                          db_text(k->networks), db_int(k->expires_us)),
                  NULL, err);
}

static const struct store_verb change_verb = { .name = "change callers",
                                               .run = caller_change_run,
                                               .notes = true };

bool caller_add(struct store *s, const struct caller *key, char ret_name[static KEY_NAME],
                char ret_key[static KEY_TEXT], struct err *err)
{
    struct caller_op o = { .add = key };

    o.secret = key_make(ret_name, ret_key);
    o.name = str_of(ret_name);
    return writers_call(s->writers, &change_verb, &o.op, err);
}

bool caller_remove(struct store *s, struct str name, bool *ret_was_there, struct err *err)
{
    struct caller_op o = { .name = name };

    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    *ret_was_there = o.changed == 1;
    return true;
}

/* ---- last use ---- */

struct use_op {
    struct store_op op;
    const struct caller_used *uses;
    size_t count;
};

static bool caller_use_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    const struct use_op *o = container_of(ops[0], struct use_op, op);

    require(count == 1);
    for (size_t i = 0; i < o->count; i++)
        if (!db_run(w->db, SQL_CALLER_USE,
                    DB_ARGS(db_int(o->uses[i].id), db_int(o->uses[i].used_us)), NULL, err))
            return false;
    return true;
}

static const struct store_verb use_verb = { .name = "note use of keys", .run = caller_use_run };

bool caller_use(struct store *s, const struct caller_used *uses, size_t count, struct err *err)
{
    struct use_op o = { .uses = uses, .count = count };

    require(count <= CALLER_USES_MOST);
    return count == 0 || writers_call(s->writers, &use_verb, &o.op, err);
}

/* ---- reading ---- */

static void read_name(struct db_rows *row, struct arena *a, void *to)
{
    *(struct str *)to = row_text(row, 0, a);
}

bool caller_name(struct store *s, int64_t id, struct arena *a, struct str *ret, struct err *err)
{
    bool there;

    *ret = (struct str){ 0 };
    return store_one(s, SQL_CALLER_NAME, DB_ARGS(db_int(id)), read_name, a, ret, &there, err);
}

bool caller_mark(struct store *s, int64_t *ret, struct err *err)
{
    return store_mark(s, "caller", ret, err);
}

static void read_caller(struct db_rows *row, struct arena *a, void *to)
{
    *(struct caller *)to = (struct caller){ .id = db_get_int(row, CALLER_ALL_ID),
                                            .name = row_text(row, CALLER_ALL_NAME, a),
                                            .gateway = db_get_int(row, CALLER_ALL_GATEWAY),
                                            .title = row_text(row, CALLER_ALL_TITLE, a),
                                            .secret = row_sha256(row, CALLER_ALL_SECRET),
                                            .made_us = db_get_int(row, CALLER_ALL_MADE_US),
                                            .systems = row_text(row, CALLER_ALL_SYSTEMS, a),
                                            .networks = row_text(row, CALLER_ALL_NETWORKS, a),
                                            .expires_us = db_get_int(row, CALLER_ALL_EXPIRES_US),
                                            .used_us = db_get_int(row, CALLER_ALL_USED_US) };
}

bool caller_list(struct store *s, struct arena *a, struct caller **ret, size_t *ret_count,
                 struct err *err)
{
    struct rows_into into = {
        .read = read_caller, .arena = a, .size = sizeof **ret, .most = CALLERS_MOST + 1
    };

    if (!store_collect(s, SQL_CALLER_ALL, DB_NO_ARGS, &into, ret_count, err))
        return false;
    if (into.count > CALLERS_MOST)
        return err_set(err, ERR_LIMIT, 0, "more than %d keys", CALLERS_MOST);
    *ret = into.items;
    return true;
}
