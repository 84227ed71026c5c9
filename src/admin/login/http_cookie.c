#include "admin/login/http_cookie.h"

#include "admin/login/login.h"
#include "admin/login/principal.h"
#include "base/cookie.h"
#include "base/http_origin.h"

#define COOKIE        "waybill"
#define COOKIE_SECURE "__Host-waybill"

struct str http_cookie_find(const struct http_request *r, const char *name)
{
    struct str field, value, found;

    for (size_t i = 0; http_field_at(r, i, &field, &value); i++) {
        if (!str_eq_nocase(field, STR("Cookie")))
            continue;
        found = cookie_value(value, name);
        if (found.ptr != NULL)
            return found;
    }
    return (struct str){ 0 };
}

/* Over TLS the cookie without the prefix does not count: any subdomain could have set it. */
static struct str http_cookie_session(const struct http_request *r)
{
    struct str secure = http_cookie_find(r, COOKIE_SECURE);

    return secure.ptr != NULL || http_is_tls(r) ? secure : http_cookie_find(r, COOKIE);
}

bool http_cookie_is_secure(const struct http_request *r)
{
    return http_is_tls(r) || str_starts(http_field(r, STR("Origin")), STR("https://"));
}

void http_cookie_put_session(struct buf *fields, bool secure, struct str secret)
{
    buf_printf(fields, "Set-Cookie: %s=%.*s; Path=/; HttpOnly; SameSite=Strict%s%s\r\n",
               secure ? COOKIE_SECURE : COOKIE, STR_ARG(secret), secure ? "; Secure" : "",
               secret.len == 0 ? "; Max-Age=0" : "");
}

bool http_cookie_identify(struct login *login, struct http_request *r, struct arena *a,
                          struct principal *ret)
{
    struct str secret = http_cookie_session(r);

    if (secret.ptr == NULL)
        return false;
    if (r->method != HTTP_METHOD_GET && r->method != HTTP_METHOD_HEAD && !http_origin_is_own(r)) {
        ret->refused = "The cookie counts for pages of this node only: send its address as Origin.";
        return false;
    }
    if (login_find(login, secret, a, ret))
        return true;
    ret->refused = "The session has ended. Log in again.";
    return false;
}
