#include "store/people/admin_key.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

enum { ROLES_TEXT = ROLES_OF_ONE_MOST * (ROLE_NAME_MOST + 1) };

/* ---- changes ----------------------------------------------------------------------------------
 */

enum action { ADD, DROP, USE };

struct change_op {
    struct store_op op;
    enum action action;
    struct str name, title, roles, by;
    struct sha256 secret;
    int64_t time_us; /* ADD: when it expires; USE: when it was used */
    int64_t changed;
    bool full, is_titled;
};

static bool add(struct writer *w, struct change_op *o, struct err *err)
{
    int64_t count, titled;

    if (!db_one_int(w->db, SQL_ADMIN_KEY_COUNT, DB_NO_ARGS, 0, &count, err) ||
        !db_one_int(w->db, SQL_ADMIN_KEY_TITLED, DB_ARGS(db_text(o->title)), 0, &titled, err))
        return false;
    o->full = count >= ADMIN_KEYS_MOST;
    o->is_titled = titled > 0;
    o->op.nothing = o->full || o->is_titled;
    return o->op.nothing || db_run(w->db, SQL_ADMIN_KEY_ADD,
                                   DB_ARGS(db_text(o->name), db_text(o->title),
                                           db_bytes(str_mem(o->secret.bytes, SHA256_SIZE)),
                                           db_text(o->roles), db_int(o->time_us), db_text(o->by)),
                                   NULL, err);
}

static bool change_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct change_op *o = container_of(ops[0], struct change_op, op);
    int64_t mark;

    require(count == 1);
    if (o->action == USE)
        return db_run(w->db, SQL_ADMIN_KEY_USE, DB_ARGS(db_text(o->name), db_int(o->time_us)), NULL,
                      err);
    if (!db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("right")), db_int(1)), 0, &mark, err))
        return false;
    if (o->action == ADD)
        return add(w, o, err);
    if (!db_run(w->db, SQL_ADMIN_KEY_DROP, DB_ARGS(db_text(o->name)), &o->changed, err))
        return false;
    o->op.nothing = o->changed == 0;
    return true;
}

static const struct store_verb change_verb = { .name = "change keys of the admin API",
                                               .run = change_run };

static bool check(const struct admin_key *k, struct err *err)
{
    if (k->title.len == 0 || k->title.len > ADMIN_KEY_TITLE_MOST)
        return err_set(err, ERR_PERMANENT, 0,
                       "a key has a title of 1 to %d bytes: it stands wherever the key is used",
                       ADMIN_KEY_TITLE_MOST);
    for (size_t i = 0; i < k->title.len; i++)
        if ((unsigned char)k->title.ptr[i] < 0x20 || k->title.ptr[i] == 0x7f)
            return err_set(err, ERR_PERMANENT, 0, "a title is one line of text");
    if (k->role_count == 0 || k->role_count > ROLES_OF_ONE_MOST)
        return err_set(err, ERR_PERMANENT, 0, "a key has 1 to %d roles", ROLES_OF_ONE_MOST);
    for (size_t i = 0; i < k->role_count; i++)
        if (!role_name_fits(k->roles[i]))
            return err_set(err, ERR_PERMANENT, 0, "there is no such role");
    return true;
}

bool admin_key_add(struct store *s, const struct admin_key *key, char ret_name[static KEY_NAME],
                   char ret_key[static KEY_TEXT], struct err *err)
{
    AUTO(buf_done) struct buf roles = BUF_INIT(ROLES_TEXT);
    struct change_op o = {
        .action = ADD, .title = key->title, .time_us = key->expires_us, .by = key->by
    };

    if (!check(key, err))
        return false;
    for (size_t i = 0; i < key->role_count; i++)
        buf_printf(&roles, "%s%.*s", i > 0 ? " " : "", STR_ARG(key->roles[i]));
    o.secret = key_make(ret_name, ret_key);
    o.name = str_of(ret_name);
    o.roles = buf_view(&roles);
    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    if (o.is_titled)
        return err_set(err, ERR_PERMANENT, 0,
                       "there is a key of this title already: each has its own");
    return !o.full || err_set(err, ERR_LIMIT, 0, "there are %d keys already", ADMIN_KEYS_MOST);
}

bool admin_key_remove(struct store *s, struct str name, bool *ret_was_there, struct err *err)
{
    struct change_op o = { .action = DROP, .name = name };

    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    *ret_was_there = o.changed == 1;
    return true;
}

bool admin_key_use(struct store *s, struct str name, int64_t used_us, struct err *err)
{
    struct change_op o = { .action = USE, .name = name, .time_us = used_us };

    return writers_call(s->writers, &change_verb, &o.op, err);
}

/* ---- looking ----------------------------------------------------------------------------------
 */

static struct admin_key key_of(struct db_rows *rows, struct arena *a)
{
    struct admin_key k = { .name = arena_copy(a, db_get_str(rows, 0)),
                           .title = arena_copy(a, db_get_str(rows, 1)),
                           .expires_us = db_get_int(rows, 4),
                           .used_us = db_get_int(rows, 5),
                           .made_us = db_get_int(rows, 6),
                           .by = arena_copy(a, db_get_str(rows, 7)) };
    struct str secret = db_get_str(rows, 2), roles = arena_copy(a, db_get_str(rows, 3));

    require(secret.len == SHA256_SIZE);
    memcpy(k.secret.bytes, secret.ptr, secret.len);
    k.roles = ARENA_ARRAY(a, struct str, ROLES_OF_ONE_MOST);
    while (roles.len > 0 && k.role_count < ROLES_OF_ONE_MOST)
        roles = str_cut(roles, ' ', &k.roles[k.role_count++]);
    return k;
}

static bool read_all(struct db *db, struct arena *a, struct admin_key *all, size_t *ret_count,
                     struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    *ret_count = 0;
    if (!db_query(db, SQL_ADMIN_KEY_ALL, DB_NO_ARGS, &rows, err))
        return false;
    while (*ret_count < ADMIN_KEYS_MOST) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        all[(*ret_count)++] = key_of(&rows, a);
    }
    return true;
}

bool admin_key_list(struct store *s, struct arena *a, struct admin_key **ret, size_t *ret_count,
                    struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    *ret = ARENA_ARRAY(a, struct admin_key, ADMIN_KEYS_MOST);
    bool ok = read_all(db, a, *ret, ret_count, err);

    store_reader_back(s, db);
    return ok;
}
