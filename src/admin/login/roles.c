#include "admin/login/roles.h"

#include "base/auto.h"
#include "base/buf.h"
#include "store/people/role.h"

enum { NAMES_MOST = 64 };

/* Splits at blanks; names beyond the limit are dropped. */
static size_t login_roles_split(struct str names, struct str ret[static NAMES_MOST])
{
    size_t n = 0;

    while (names.len > 0 && n < NAMES_MOST) {
        names = str_cut(names, ' ', &ret[n]);
        n += ret[n].len > 0;
    }
    return n;
}

void login_roles_rights(const struct role *roles, size_t count, struct str names,
                        struct rights *ret)
{
    struct str list[NAMES_MOST];

    *ret = (struct rights){ 0 };
    role_rights_of(roles, count, list, login_roles_split(names, list), ret);
}

static bool is_role(struct str name, const struct role *roles, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(roles[i].name, name))
            return true;
    return rights_role_find(name) != NULL;
}

bool login_roles_check(struct store *s, struct str names, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
    AUTO(buf_done) struct buf known = BUF_INIT(32 << 10);
    struct str list[NAMES_MOST];
    struct role *roles;
    size_t count, n = login_roles_split(names, list), at = 0;

    if (!role_list(s, &a, &roles, &count, err))
        return false;
    while (at < n && is_role(list[at], roles, count))
        at++;
    if (at == n)
        return true;
    for (size_t i = 0; i < rights_role_count; i++)
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", rights_roles[i].name);
    for (size_t i = 0; i < count; i++)
        buf_printf(&known, ", %.*s", STR_ARG(roles[i].name));
    return err_set(err, ERR_PERMANENT, 0, "there is no role %.*s; there are %s",
                   (int)(list[at].len < 64 ? list[at].len : 64), list[at].ptr, known.ptr);
}

bool login_roles_mark(struct store *s, int64_t *ret, struct err *err)
{
    return role_mark(s, ret, err);
}
