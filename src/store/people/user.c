#include "store/people/user.h"

#include <errno.h>

#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

bool user_is_reserved(struct str name)
{
    static const char *const names[] = {
        "admin",  "anonymous", "caller",    "key",    "node",  "nobody",
        "others", "purger",    "retention", "system", "token", "waybill",
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

bool user_is_name(struct str name)
{
    static const char others[] = "._-@+";

    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

        if (!plain && (i == 0 || memchr(others, c, sizeof others - 1) == NULL))
            return false;
    }
    return name.len >= 1 && name.len <= USER_NAME_MOST;
}

/* ---- reading ---- */

static void read_user(struct db_rows *row, struct arena *a, void *to)
{
    *(struct user *)to = (struct user){ .name = row_text(row, LOGIN_NAME, a),
                                        .title = row_text(row, LOGIN_TITLE, a),
                                        .password = row_text(row, LOGIN_PASSWORD, a),
                                        .roles = row_text(row, LOGIN_ROLES, a),
                                        .disabled = db_get_int(row, LOGIN_DISABLED) != 0,
                                        .iss = row_text(row, LOGIN_ISS, a),
                                        .sub = row_text(row, LOGIN_SUB, a),
                                        .made_us = db_get_int(row, LOGIN_MADE_US),
                                        .login_us = db_get_int(row, LOGIN_LOGIN_US) };
}

static bool user_find_user(struct writer *w, struct str name, struct user *ret, bool *ret_there,
                           struct err *err)
{
    return rows_one(w->db, SQL_USER_ONE, DB_NO_SLOT, DB_ARGS(db_text(name)), read_user, w->arena,
                    ret, ret_there, err);
}

bool user_list(struct store *s, struct arena *a, struct user **ret, size_t *ret_count,
               struct err *err)
{
    struct rows_into into = {
        .read = read_user, .arena = a, .size = sizeof **ret, .most = USERS_MOST
    };

    if (!store_collect(s, SQL_USER_ALL, DB_NO_ARGS, &into, ret_count, err))
        return false;
    *ret = into.items;
    return true;
}

bool user_get(struct store *s, struct str name, struct arena *a, struct user *ret, struct err *err)
{
    bool there;

    return store_one(s, SQL_USER_ONE, DB_ARGS(db_text(name)), read_user, a, ret, &there, err) &&
           there;
}

bool user_get_by_sub(struct store *s, struct str iss, struct str sub, struct arena *a,
                     struct user *ret, struct err *err)
{
    bool there;

    return store_one(s, SQL_USER_BY_SUB, DB_ARGS(db_text(iss), db_text(sub)), read_user, a, ret,
                     &there, err) &&
           there;
}

bool user_mark(struct store *s, int64_t *ret, struct err *err)
{
    return store_mark(s, "login", ret, err);
}

/* ---- changes ---- */

struct user_op {
    struct store_op op;
    const struct user *user;
    unsigned what;
    const struct sha256 *but, *link;
    int64_t lasts_us;
    int64_t changed;
    bool full;
    struct arena *arena; /* for the answer */
    struct str name;
};

static struct str user_digest_bytes(const struct sha256 *d)
{
    return d != NULL ? str_mem(d->bytes, SHA256_SIZE) : STR("");
}

static bool user_insert(struct writer *w, const struct user *u, int64_t *ret_changed,
                        struct err *err)
{
    return db_run(w->db, SQL_USER_ADD,
                  DB_ARGS(db_text(u->name), db_text(u->title), db_text(u->password),
                          db_text(u->roles), db_int(u->disabled), db_text(u->iss), db_text(u->sub)),
                  ret_changed, err);
}

/* *ret_ended: the number of ended sessions and links. */
static bool end_all_of(struct writer *w, struct str name, const struct sha256 *but,
                       int64_t *ret_ended, struct err *err)
{
    int64_t sessions, links;

    if (!db_run(w->db, SQL_SESSION_DROP_OF,
                DB_ARGS(db_text(name), db_bytes(user_digest_bytes(but))), &sessions, err) ||
        !db_run(w->db, SQL_INVITE_DROP_OF, DB_ARGS(db_text(name)), &links, err))
        return false;
    *ret_ended = sessions + links;
    return true;
}

static bool user_add_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct user_op *o = container_of(ops[0], struct user_op, op);
    int64_t there;

    require(count == 1);
    if (!mark_take(w, "login", NULL, err) ||
        !db_one_int(w->db, SQL_USER_COUNT, DB_NO_ARGS, 0, &there, err))
        return false;
    o->full = there >= USERS_MOST;
    o->changed = 0;
    if (!o->full && !user_insert(w, o->user, &o->changed, err))
        return false;
    o->op.nothing = o->changed == 0;
    return o->op.nothing || db_run(w->db, SQL_INVITE_DROP_OF, DB_ARGS(db_text(STR(""))), NULL, err);
}

static const struct store_verb add_verb = { .name = "add user", .run = user_add_run };

bool user_add(struct store *s, const struct user *u, struct err *err)
{
    struct user_op o = { .user = u };

    require(user_is_name(u->name) && u->title.len <= USER_TITLE_MOST &&
            u->roles.len <= USER_ROLES_TEXT && u->sub.len <= USER_SUB_MOST);
    if (user_is_reserved(u->name))
        return err_set(err, ERR_PERMANENT, EEXIST,
                       "the name %.*s is reserved: it stands for the program in timelines and in "
                       "the audit log",
                       STR_ARG(u->name));
    if (!writers_call(s->writers, &add_verb, &o.op, err))
        return false;
    if (o.full)
        return err_set(err, ERR_LIMIT, 0, "there are %d users already", USERS_MOST);
    return o.changed == 1 ||
           err_set(err, ERR_PERMANENT, EEXIST, "there is a user %.*s already", STR_ARG(u->name));
}

static struct user changed_user(const struct user *was, const struct user_op *o)
{
    struct user now = *was;

    if ((o->what & USER_TITLE) != 0)
        now.title = o->user->title;
    if ((o->what & USER_PASSWORD) != 0)
        now.password = o->user->password;
    if ((o->what & USER_ROLES) != 0)
        now.roles = o->user->roles;
    if ((o->what & USER_DISABLED) != 0)
        now.disabled = o->user->disabled;
    return now;
}

static bool user_is_same(const struct user *a, const struct user *b)
{
    return str_eq(a->title, b->title) && str_eq(a->password, b->password) &&
           str_eq(a->roles, b->roles) && a->disabled == b->disabled;
}

static bool user_change_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct user_op *o = container_of(ops[0], struct user_op, op);
    struct user was = { 0 };
    int64_t ended = 0;
    bool there;

    require(count == 1);
    if (!mark_take(w, "login", NULL, err) || !user_find_user(w, o->user->name, &was, &there, err))
        return false;
    o->changed = there;
    o->op.nothing = !there;
    if (!there)
        return true;
    struct user now = changed_user(&was, o);
    bool ends =
        (o->what & USER_PASSWORD) != 0 || ((o->what & USER_DISABLED) != 0 && o->user->disabled);

    if (!db_run(w->db, SQL_USER_CHANGE,
                DB_ARGS(db_text(now.name), db_text(now.title), db_text(now.password),
                        db_text(now.roles), db_int(now.disabled)),
                NULL, err) ||
        (ends && !end_all_of(w, now.name, o->but, &ended, err)))
        return false;
    o->op.nothing = user_is_same(&was, &now) && ended == 0;
    return true;
}

static const struct store_verb change_verb = { .name = "change user", .run = user_change_run };

bool user_change(struct store *s, const struct user *u, unsigned what, const struct sha256 *but,
                 bool *ret_was, struct err *err)
{
    struct user_op o = { .user = u, .what = what, .but = but };

    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    *ret_was = o.changed == 1;
    return true;
}

static bool user_drop_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct user_op *o = container_of(ops[0], struct user_op, op);
    int64_t ended;

    require(count == 1);
    if (!mark_take(w, "login", NULL, err) || !end_all_of(w, o->user->name, NULL, &ended, err) ||
        !db_run(w->db, SQL_USER_DROP, DB_ARGS(db_text(o->user->name)), &o->changed, err))
        return false;
    o->op.nothing = o->changed == 0 && ended == 0;
    return true;
}

static const struct store_verb drop_verb = { .name = "remove user", .run = user_drop_run };

bool user_drop(struct store *s, struct str name, bool *ret_was, struct err *err)
{
    struct user u = { .name = name };
    struct user_op o = { .user = &u };

    if (!writers_call(s->writers, &drop_verb, &o.op, err))
        return false;
    *ret_was = o.changed == 1;
    return true;
}

/* ---- links ---- */

/* An invitation without a name is allowed only while no user and no other link exists. */
static bool may_invite(struct writer *w, struct str name, bool *ret, struct err *err)
{
    int64_t users, links;
    struct user now;

    if (name.len > 0)
        return user_find_user(w, name, &now, ret, err) &&
               db_run(w->db, SQL_INVITE_DROP_OF, DB_ARGS(db_text(name)), NULL, err);
    if (!db_one_int(w->db, SQL_USER_COUNT, DB_NO_ARGS, 0, &users, err) ||
        !db_one_int(w->db, SQL_INVITE_COUNT, DB_ARGS(db_text(name)), 0, &links, err))
        return false;
    *ret = users == 0 && links == 0;
    return true;
}

static bool invite_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct user_op *o = container_of(ops[0], struct user_op, op);
    struct str name = o->user->name;
    bool may;

    require(count == 1);
    if (!mark_take(w, "login", NULL, err) ||
        !db_run(w->db, SQL_INVITE_FORGET, DB_NO_ARGS, NULL, err) || !may_invite(w, name, &may, err))
        return false;
    o->changed = may;
    o->op.nothing = !may;
    return !may ||
           db_run(w->db, SQL_INVITE_ADD,
                  DB_ARGS(db_bytes(user_digest_bytes(o->link)), db_text(name), db_int(o->lasts_us)),
                  NULL, err);
}

static const struct store_verb invite_verb = { .name = "invite user", .run = invite_run };

bool user_invite(struct store *s, struct str name, const struct sha256 *id, int64_t lasts_us,
                 bool *ret_may, struct err *err)
{
    struct user u = { .name = name };
    struct user_op o = { .user = &u, .link = id, .lasts_us = lasts_us };

    if (!writers_call(s->writers, &invite_verb, &o.op, err))
        return false;
    *ret_may = o.changed == 1;
    return true;
}

static void read_invited(struct db_rows *row, struct arena *a, void *to)
{
    *(struct str *)to = row_text(row, 0, a);
}

bool user_invited(struct store *s, const struct sha256 *id, struct arena *a, struct str *ret,
                  struct err *err)
{
    bool there;

    return store_one(s, SQL_INVITE_ONE, DB_ARGS(db_bytes(user_digest_bytes(id))), read_invited, a,
                     ret, &there, err) &&
           there;
}

static bool set_password(struct writer *w, struct user_op *o, struct err *err)
{
    struct user now;
    int64_t ended;
    bool there;

    if (!user_find_user(w, o->name, &now, &there, err))
        return false;
    o->changed = there && !now.disabled;
    return o->changed == 0 ||
           (db_run(w->db, SQL_USER_CHANGE,
                   DB_ARGS(db_text(now.name), db_text(now.title), db_text(o->user->password),
                           db_text(now.roles), db_int(0)),
                   NULL, err) &&
            end_all_of(w, o->name, NULL, &ended, err));
}

static bool enter(struct writer *w, struct user_op *o, struct err *err)
{
    int64_t users;
    bool there;

    o->changed = 0;
    if (!mark_take(w, "login", NULL, err) ||
        !rows_one(w->db, SQL_INVITE_ONE, DB_NO_SLOT, DB_ARGS(db_bytes(user_digest_bytes(o->link))),
                  read_invited, o->arena, &o->name, &there, err))
        return false;
    if (!there)
        return true;
    if (o->name.len > 0)
        return set_password(w, o, err);
    if (!db_one_int(w->db, SQL_USER_COUNT, DB_NO_ARGS, 0, &users, err))
        return false;
    o->name = o->user->name;
    return users > 0 || (user_insert(w, o->user, &o->changed, err) &&
                         db_run(w->db, SQL_INVITE_DROP_OF, DB_ARGS(db_text(STR(""))), NULL, err));
}

static bool enter_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct user_op *o = container_of(ops[0], struct user_op, op);

    require(count == 1);
    if (!enter(w, o, err))
        return false;
    o->op.nothing = o->changed == 0;
    return true;
}

static const struct store_verb enter_verb = { .name = "use link", .run = enter_run };

bool user_enter(struct store *s, const struct sha256 *id, const struct user *u, struct arena *a,
                struct str *ret_name, struct err *err)
{
    struct user_op o = { .user = u, .link = id, .arena = a };

    if (!writers_call(s->writers, &enter_verb, &o.op, err))
        return false;
    *ret_name = o.changed == 1 ? arena_copy(a, o.name) : STR("");
    return true;
}
