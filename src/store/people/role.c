#include "store/people/role.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

enum { SYSTEMS_TEXT = RIGHTS_SYSTEMS_MOST * 256, RIGHTS_TEXT = 256 };

bool role_name_fits(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_' || c == '.'))
            return false;
    }
    return name.len > 0 && name.len <= ROLE_NAME_MOST;
}

/* ---- what a role may be -----------------------------------------------------------------------
 */

static bool check_systems(const struct role *r, struct err *err)
{
    if (r->system_count == 0 || r->system_count > RIGHTS_SYSTEMS_MOST)
        return err_set(err, ERR_LIMIT, 0,
                       "a role is for all systems, or for 1 to %d that are named",
                       RIGHTS_SYSTEMS_MOST);
    for (size_t i = 0; i < r->system_count; i++)
        if (r->systems[i].len == 0 || r->systems[i].len > 255 || str_find(r->systems[i], '\n') >= 0)
            return err_set(err, ERR_PERMANENT, 0, "the name of a system is 1 to 255 bytes");
    return true;
}

static bool check_rights(const struct role *r, struct err *err)
{
    for (int i = RIGHT_SEE; i < RIGHTS; i++) {
        const char *word = right_word((enum right)i);

        if ((r->bits >> i & 1) == 0)
            continue;
        if (!right_is_scoped((enum right)i) && !r->everywhere)
            return err_set(err, ERR_PERMANENT, 0,
                           "the right `%s` is about the whole node: put it into a role for all "
                           "systems",
                           word);
        if (right_is_scoped((enum right)i) && (r->bits >> RIGHT_SEE & 1) == 0)
            return err_set(err, ERR_PERMANENT, 0, "the right `%s` needs the right `see` beside it",
                           word);
        if (i == RIGHT_EDIT && (r->bits >> RIGHT_PAYLOAD & 1) == 0)
            return err_set(
                err, ERR_PERMANENT, 0,
                "the right `edit` needs the right `payload` beside it: nobody edits what "
                "they may not look into");
    }
    if (r->bits >> RIGHT_SEE == 0)
        return err_set(err, ERR_PERMANENT, 0, "a role has at least one right");
    return true;
}

static bool check(const struct role *r, struct err *err)
{
    if (!role_name_fits(r->name))
        return err_set(err, ERR_PERMANENT, 0,
                       "the name of a role is 1 to %d letters, digits, - _ or .", ROLE_NAME_MOST);
    if (rights_role_find(r->name) != NULL)
        return err_set(err, ERR_PERMANENT, 0, "the role %.*s is built in and stays as it is",
                       STR_ARG(r->name));
    if (r->title.len > ROLE_TITLE_MOST)
        return err_set(err, ERR_LIMIT, 0, "a title is at most %d bytes", ROLE_TITLE_MOST);
    return check_rights(r, err) && (r->everywhere || check_systems(r, err));
}

/* ---- changes ----------------------------------------------------------------------------------
 */

struct change_op {
    struct store_op op;
    const struct role *role; /* NULL: drop `name` */
    struct str name, rights, systems;
    int64_t changed;
    bool full;
};

static bool put(struct writer *w, struct change_op *o, struct err *err)
{
    const struct role *r = o->role;
    int64_t others;

    if (!db_one_int(w->db, SQL_ROLE_OTHERS, DB_ARGS(db_text(r->name)), 0, &others, err))
        return false;
    o->full = others >= ROLES_MOST;
    o->changed = 0;
    return o->full ||
           db_run(w->db, SQL_ROLE_PUT,
                  DB_ARGS(db_text(r->name), db_text(r->title), db_text(o->rights),
                          r->everywhere ? db_null() : db_text(o->systems), db_text(r->by)),
                  &o->changed, err);
}

static bool change_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct change_op *o = container_of(ops[0], struct change_op, op);
    int64_t mark;

    require(count == 1);
    if (!db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("right")), db_int(1)), 0, &mark, err))
        return false;
    if (!(o->role != NULL
              ? put(w, o, err)
              : db_run(w->db, SQL_ROLE_DROP, DB_ARGS(db_text(o->name)), &o->changed, err)))
        return false;
    o->op.nothing = o->changed == 0;
    return true;
}

static const struct store_verb change_verb = { .name = "change roles", .run = change_run };

bool role_put(struct store *s, const struct role *role, struct err *err)
{
    AUTO(buf_done) struct buf rights = BUF_INIT(RIGHTS_TEXT), systems = BUF_INIT(SYSTEMS_TEXT);
    struct change_op o = { .role = role };

    if (!check(role, err))
        return false;
    for (int i = RIGHT_SEE; i < RIGHTS; i++)
        if ((role->bits >> i & 1) != 0)
            buf_printf(&rights, "%s%s", rights.len > 0 ? " " : "", right_word((enum right)i));
    for (size_t i = 0; !role->everywhere && i < role->system_count; i++)
        buf_printf(&systems, "%s%.*s", i > 0 ? "\n" : "", STR_ARG(role->systems[i]));
    o.rights = buf_view(&rights);
    o.systems = buf_view(&systems);
    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    return !o.full || err_set(err, ERR_LIMIT, 0, "there are %d roles already", ROLES_MOST);
}

bool role_drop(struct store *s, struct str name, bool *ret_was_there, struct err *err)
{
    struct change_op o = { .name = name };

    if (rights_role_find(name) != NULL)
        return err_set(err, ERR_PERMANENT, 0, "the role %.*s is built in and stays", STR_ARG(name));
    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    *ret_was_there = o.changed == 1;
    return true;
}

/* ---- looking ----------------------------------------------------------------------------------
 */

static unsigned read_rights(struct str words)
{
    unsigned bits = 0;
    enum right r;

    for (struct str word; words.len > 0;) {
        words = str_cut(words, ' ', &word);
        if (right_find(word, &r))
            bits |= 1u << r;
    }
    return bits;
}

static void read_systems(struct str names, struct arena *a, struct role *r)
{
    size_t count = 1;

    for (size_t i = 0; i < names.len; i++)
        count += names.ptr[i] == '\n';
    r->systems = ARENA_ARRAY(a, struct str, count);
    for (struct str name; names.len > 0 && r->system_count < RIGHTS_SYSTEMS_MOST;) {
        names = str_cut(names, '\n', &name);
        r->systems[r->system_count++] = arena_copy(a, name);
    }
}

static bool read_all(struct db *db, struct arena *a, struct role *all, size_t *ret_count,
                     struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    *ret_count = 0;
    if (!db_query(db, SQL_ROLE_ALL, DB_NO_ARGS, &rows, err))
        return false;
    while (*ret_count < ROLES_MOST) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        struct role *r = &all[(*ret_count)++];

        *r = (struct role){ .name = arena_copy(a, db_get_str(&rows, 0)),
                            .title = arena_copy(a, db_get_str(&rows, 1)),
                            .bits = read_rights(db_get_str(&rows, 2)),
                            .everywhere = db_is_null(&rows, 3),
                            .made_us = db_get_int(&rows, 4),
                            .by = arena_copy(a, db_get_str(&rows, 5)) };
        if (!r->everywhere)
            read_systems(db_get_str(&rows, 3), a, r);
    }
    return true;
}

bool role_list(struct store *s, struct arena *a, struct role **ret, size_t *ret_count,
               struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    *ret = ARENA_ARRAY(a, struct role, ROLES_MOST);
    bool ok = read_all(db, a, *ret, ret_count, err);

    store_reader_back(s, db);
    return ok;
}

static void add_role(const struct role *r, struct rights *to)
{
    if (r->everywhere)
        (void)rights_add(to, r->bits, (struct str){ 0 });
    for (size_t i = 0; !r->everywhere && i < r->system_count; i++)
        (void)rights_add(to, r->bits, r->systems[i]); /* false: left out */
}

void role_rights_of(const struct role *roles, size_t role_count, const struct str *names,
                    size_t count, struct rights *ret)
{
    *ret = (struct rights){ 0 };
    for (size_t i = 0; i < count; i++) {
        const struct rights_role *built_in = rights_role_find(names[i]);

        if (built_in != NULL)
            (void)rights_add(ret, built_in->bits, (struct str){ 0 });
        for (size_t k = 0; built_in == NULL && k < role_count; k++)
            if (str_eq(roles[k].name, names[i]))
                add_role(&roles[k], ret);
    }
}

bool role_mark(struct store *s, int64_t *ret, struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(STR("right"))), 0, ret, err);

    store_reader_back(s, db);
    return ok;
}
