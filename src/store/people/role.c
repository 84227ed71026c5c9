#include "store/people/role.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
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

/* ---- validation ---- */

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

static bool role_check(const struct role *r, struct err *err)
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

/* ---- changes ---- */

struct put_op {
    struct store_op op;
    const struct role *role;
    struct str rights, systems;
    bool full;
};

static bool put_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct put_op *o = container_of(ops[0], struct put_op, op);
    const struct role *r = o->role;
    int64_t others, changed = 0;

    require(count == 1);
    if (!mark_take(w, "right", NULL, err) ||
        !db_one_int(w->db, SQL_ROLE_OTHERS, DB_ARGS(db_text(r->name)), 0, &others, err))
        return false;
    o->full = others >= ROLES_MOST;
    if (!o->full &&
        !db_run(w->db, SQL_ROLE_PUT,
                DB_ARGS(db_text(r->name), db_text(r->title), db_text(o->rights),
                        r->everywhere ? db_null() : db_text(o->systems), db_text(r->by)),
                &changed, err))
        return false;
    o->op.nothing = changed == 0;
    return true;
}

static const struct store_verb put_verb = { .name = "put role", .run = put_run };

bool role_put(struct store *s, const struct role *role, struct err *err)
{
    AUTO(buf_done) struct buf rights = BUF_INIT(RIGHTS_TEXT), systems = BUF_INIT(SYSTEMS_TEXT);
    struct put_op o = { .role = role };

    if (!role_check(role, err))
        return false;
    for (int i = RIGHT_SEE; i < RIGHTS; i++)
        if ((role->bits >> i & 1) != 0)
            buf_printf(&rights, "%s%s", rights.len > 0 ? " " : "", right_word((enum right)i));
    for (size_t i = 0; !role->everywhere && i < role->system_count; i++)
        buf_printf(&systems, "%s%.*s", i > 0 ? "\n" : "", STR_ARG(role->systems[i]));
    o.rights = buf_view(&rights);
    o.systems = buf_view(&systems);
    if (!writers_call(s->writers, &put_verb, &o.op, err))
        return false;
    return !o.full || err_set(err, ERR_LIMIT, 0, "there are %d roles already", ROLES_MOST);
}

bool role_drop(struct store *s, struct str name, bool *ret_was_there, struct err *err)
{
    if (rights_role_find(name) != NULL)
        return err_set(err, ERR_PERMANENT, 0, "the role %.*s is built in and stays", STR_ARG(name));
    return store_change_one(s,
                            &(struct store_change){ .sql = SQL_ROLE_DROP,
                                                    .args = DB_ARGS(db_text(name)),
                                                    .mark = "right" },
                            ret_was_there, err);
}

/* ---- reading ---- */

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

static void role_read_role(struct db_rows *row, struct arena *a, void *to)
{
    struct role *r = to;

    *r = (struct role){ .name = row_text(row, ROLE_ALL_NAME, a),
                        .title = row_text(row, ROLE_ALL_TITLE, a),
                        .bits = read_rights(db_get_str(row, ROLE_ALL_RIGHTS)),
                        .everywhere = db_is_null(row, ROLE_ALL_SYSTEMS),
                        .made_us = db_get_int(row, ROLE_ALL_MADE_US),
                        .by = row_text(row, ROLE_ALL_MADE_BY, a) };
    if (!r->everywhere)
        read_systems(db_get_str(row, ROLE_ALL_SYSTEMS), a, r);
}

bool role_list(struct store *s, struct arena *a, struct role **ret, size_t *ret_count,
               struct err *err)
{
    *ret = ARENA_ARRAY(a, struct role, ROLES_MOST);
    return store_collect(s, SQL_ROLE_ALL, DB_NO_ARGS,
                         ROWS_INTO(*ret, ROLES_MOST, a, role_read_role), ret_count, err);
}

static void add_role(const struct role *r, struct rights *to)
{
    if (r->everywhere)
        (void)rights_add(to, r->bits, (struct str){ 0 });
    for (size_t i = 0; !r->everywhere && i < r->system_count; i++)
        (void)rights_add(to, r->bits, r->systems[i]); /* false: too many systems, left out */
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
    return store_mark(s, "right", ret, err);
}
