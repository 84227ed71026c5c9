#include "admin/login/identify.h"

#include "admin/login/http_cookie.h"
#include "admin/login/principal.h"
#include "base/arena.h"
#include "base/http_server.h"
#include "engine/engine.h"
#include "engine/intake/intake.h"
#include "engine/intake/intake_table.h"
#include "engine/upkeep/admin_keys.h"

/* The key of the request, sent as to a gateway: "Bearer KEY", or the field X-API-Key. */
static struct str token_of(const struct http_request *r)
{
    struct str scheme, rest = str_cut(r->authorization, ' ', &scheme);

    if (r->authorization.ptr == NULL)
        return http_field(r, STR("X-API-Key"));
    return str_eq_nocase(scheme, STR("bearer")) ? str_trim(rest) : (struct str){ 0 };
}

bool identify(const struct identify *known, struct http_request *r, struct arena *a,
              struct principal *ret, int64_t *ret_caller)
{
    struct str token = token_of(r), title;

    *ret = (struct principal){ .engine = known->engine,
                               .login = known->login,
                               .address = arena_copy(a, http_peer(r)) };
    *ret_caller = 0;
    if (token.ptr == NULL)
        return http_cookie_identify(known->login, r, a, ret);
    struct intake_table *t = intake_port.table(engine_intake(known->engine));

    if (intake_is_admin(t, token)) {
        ret->kind = PRINCIPAL_TOKEN;
        ret->name = STR("admin");
        ret->rights = rights_all;
    }
    *ret_caller = intake_caller_of(t, token);
    intake_port.release(t);
    if (ret->kind == PRINCIPAL_NOBODY &&
        admin_keys_find(engine_admin_keys(known->engine), token, a, &title, &ret->rights)) {
        ret->kind = PRINCIPAL_KEY;
        ret->name = str_of(arena_printf(a, "key %.*s", STR_ARG(title)));
    }
    return ret->kind != PRINCIPAL_NOBODY;
}
