#include "admin/oidc.h"

#include "admin/http_login_entry.h"
#include "base/json.h"

void oidc_start(struct entry *e)
{
    entry_page(e, 404, "There is no other way in",
               STR("The configuration has no provider under auth: oidc."));
}

void oidc_callback(struct entry *e)
{
    oidc_start(e);
}

void oidc_describe(struct engine *engine, struct json_out *j)
{
    (void)engine;
    json_none(j);
}
