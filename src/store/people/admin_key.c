#include "store/people/admin_key.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

enum { ROLES_TEXT = ROLES_OF_ONE_MOST * (ROLE_NAME_MOST + 1) };

/* ---- changes ---- */

struct add_op {
    struct store_op op;
    struct str name, roles;
    const struct admin_key *key;
    struct sha256 secret;
    bool full, is_titled;
};

static bool admin_key_add_run(struct writer *w, struct store_op **ops, size_t count,
                              struct err *err)
{
    struct add_op *o = container_of(ops[0], struct add_op, op);
    const struct admin_key *k = o->key;
    int64_t there, titled;

    require(count == 1);
    if (!mark_take(w, "right", NULL, err) ||
        !db_one_int(w->db, SQL_ADMIN_KEY_COUNT, DB_NO_ARGS, 0, &there, err) ||
        !db_one_int(w->db, SQL_ADMIN_KEY_TITLED, DB_ARGS(db_text(k->title)), 0, &titled, err))
        return false;
    o->full = there >= ADMIN_KEYS_MOST;
    o->is_titled = titled > 0;
    o->op.nothing = o->full || o->is_titled;
    return o->op.nothing ||
           db_run(w->db, SQL_ADMIN_KEY_ADD,
                  DB_ARGS(db_text(o->name), db_text(k->title),
                          db_bytes(str_mem(o->secret.bytes, SHA256_SIZE)), db_text(o->roles),
                          db_int(k->expires_us), db_text(k->by)),
                  NULL, err);
}

static const struct store_verb add_verb = { .name = "add admin key", .run = admin_key_add_run };

static bool admin_key_check(const struct admin_key *k, struct err *err)
{
    if (k->title.len == 0 || k->title.len > ADMIN_KEY_TITLE_MOST)
        return err_set(err, ERR_PERMANENT, 0,
                       "a key has a title of 1 to %d bytes: it stands wherever the key is used",
                       ADMIN_KEY_TITLE_MOST);
    if (str_has_control(k->title))
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
    struct add_op o = { .key = key };

    if (!admin_key_check(key, err))
        return false;
    for (size_t i = 0; i < key->role_count; i++)
        buf_printf(&roles, "%s%.*s", i > 0 ? " " : "", STR_ARG(key->roles[i]));
    o.secret = key_make(ret_name, ret_key);
    o.name = str_of(ret_name);
    o.roles = buf_view(&roles);
    if (!writers_call(s->writers, &add_verb, &o.op, err))
        return false;
    if (o.is_titled)
        return err_set(err, ERR_PERMANENT, 0,
                       "there is a key of this title already: each has its own");
    return !o.full || err_set(err, ERR_LIMIT, 0, "there are %d keys already", ADMIN_KEYS_MOST);
}

bool admin_key_remove(struct store *s, struct str name, bool *ret_was_there, struct err *err)
{
    return store_change_one(s,
                            &(struct store_change){ .sql = SQL_ADMIN_KEY_DROP,
                                                    .args = DB_ARGS(db_text(name)),
                                                    .mark = "right" },
                            ret_was_there, err);
}

bool admin_key_use(struct store *s, struct str name, int64_t used_us, struct err *err)
{
    return store_change(s,
                        &(struct store_change){ .sql = SQL_ADMIN_KEY_USE,
                                                .args = DB_ARGS(db_text(name), db_int(used_us)) },
                        NULL, err);
}

/* ---- reading ---- */

static void admin_key_read_key(struct db_rows *row, struct arena *a, void *to)
{
    struct admin_key *k = to;
    struct str roles = row_text(row, ADMIN_KEY_ALL_ROLES, a);

    *k = (struct admin_key){ .name = row_text(row, ADMIN_KEY_ALL_NAME, a),
                             .title = row_text(row, ADMIN_KEY_ALL_TITLE, a),
                             .secret = row_sha256(row, ADMIN_KEY_ALL_SECRET),
                             .expires_us = db_get_int(row, ADMIN_KEY_ALL_EXPIRES_US),
                             .used_us = db_get_int(row, ADMIN_KEY_ALL_USED_US),
                             .made_us = db_get_int(row, ADMIN_KEY_ALL_MADE_US),
                             .by = row_text(row, ADMIN_KEY_ALL_MADE_BY, a),
                             .roles = ARENA_ARRAY(a, struct str, ROLES_OF_ONE_MOST) };
    while (roles.len > 0 && k->role_count < ROLES_OF_ONE_MOST)
        roles = str_cut(roles, ' ', &k->roles[k->role_count++]);
}

bool admin_key_list(struct store *s, struct arena *a, struct admin_key **ret, size_t *ret_count,
                    struct err *err)
{
    *ret = ARENA_ARRAY(a, struct admin_key, ADMIN_KEYS_MOST);
    return store_collect(s, SQL_ADMIN_KEY_ALL, DB_NO_ARGS,
                         ROWS_INTO(*ret, ADMIN_KEYS_MOST, a, admin_key_read_key), ret_count, err);
}
