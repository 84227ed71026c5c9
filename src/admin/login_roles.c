#include "admin/login_roles.h"

#include "base/auto.h"
#include "base/buf.h"

bool login_roles_rights(struct store *s, struct str names, struct arena *a, struct rights *ret,
                        struct err *err)
{
    struct str name;

    (void)s;
    (void)a;
    (void)err;
    *ret = (struct rights){ 0 };
    while (names.len > 0) {
        names = str_cut(names, ' ', &name);
        const struct rights_role *role = rights_role_find(name);

        if (role != NULL)
            (void)rights_add(ret, role->bits, (struct str){ 0 });
    }
    return true;
}

bool login_roles_check(struct store *s, struct str names, struct err *err)
{
    AUTO(buf_done) struct buf known = BUF_INIT(4096);
    struct str name;

    (void)s;
    while (names.len > 0) {
        names = str_cut(names, ' ', &name);
        if (rights_role_find(name) != NULL)
            continue;
        for (size_t i = 0; i < rights_role_count; i++)
            buf_printf(&known, "%s%s", i > 0 ? ", " : "", rights_roles[i].name);
        return err_set(err, ERR_PERMANENT, 0, "there is no role %.*s; there are %s",
                       (int)(name.len < 64 ? name.len : 64), name.ptr, known.ptr);
    }
    return true;
}

bool login_roles_mark(struct store *s, int64_t *ret, struct err *err)
{
    (void)s;
    (void)err;
    *ret = 0;
    return true;
}
