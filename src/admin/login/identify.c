#include "admin/login/identify.h"

#include <stdio.h>

#include "admin/login/http_cookie.h"
#include "admin/login/principal.h"
#include "base/arena.h"
#include "base/http_server.h"
#include "engine/engine.h"
#include "engine/intake/intake.h"
#include "engine/intake/intake_table.h"
#include "engine/tally/refusals.h"
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
                               .jobs = known->jobs,
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
    *ret_caller = intake_caller_of(t, token, ret->address);
    intake_port.release(t);
    if (ret->kind == PRINCIPAL_NOBODY &&
        admin_keys_find(engine_admin_keys(known->engine), token, a, &title, &ret->rights)) {
        ret->kind = PRINCIPAL_KEY;
        ret->name = str_of(arena_printf(a, "key %.*s", STR_ARG(title)));
    }
    if (ret->kind == PRINCIPAL_NOBODY && *ret_caller == 0)
        refusals_note(engine_refusals(known->engine),
                      &(struct refusal){ .action = "credentialRefused",
                                         .address = ret->address,
                                         .why = "this token or key is not known, or has ended" });
    return ret->kind != PRINCIPAL_NOBODY;
}

struct str identify_kind(const struct principal *who)
{
    static const struct str kinds[] = { [PRINCIPAL_NOBODY] = { "caller", 6 },
                                        [PRINCIPAL_TOKEN] = { "token", 5 },
                                        [PRINCIPAL_USER] = { "user", 4 },
                                        [PRINCIPAL_KEY] = { "key", 3 } };

    return kinds[who->kind];
}

void identify_note_forbidden(const struct principal *who, struct str what, enum right right)
{
    char why[60];

    (void)snprintf(why, sizeof why, "it needs the right `%s`", right_word(right));
    refusals_note(engine_refusals(who->engine), &(struct refusal){ .action = "forbidden",
                                                                   .actor = who->name,
                                                                   .kind = identify_kind(who),
                                                                   .address = who->address,
                                                                   .object = what,
                                                                   .why = why });
}
