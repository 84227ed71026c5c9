#include "base/http_origin.h"

#include "base/network.h"

/* Compares "https://host:port" with the Host field.  The scheme of the page is known to the browser
 * alone, because a proxy may terminate TLS; only http:// on a TLS connection is surely wrong. */
static bool is_own_origin(const struct http_request *r, struct str origin)
{
    struct str host = http_field(r, STR("Host"));
    struct str rest = origin;

    if (str_starts(origin, STR("https://")))
        rest = str_from(origin, strlen("https://"));
    else if (str_starts(origin, STR("http://")) && !http_is_tls(r))
        rest = str_from(origin, strlen("http://"));
    else
        return false;
    return host.len > 0 && str_eq_nocase(rest, host);
}

bool http_origin_is_foreign(const struct http_request *r)
{
    struct str site = http_field(r, STR("Sec-Fetch-Site")), origin = http_field(r, STR("Origin"));

    if (site.ptr != NULL && !str_is(site, "same-origin"))
        return true;
    return origin.ptr != NULL && !is_own_origin(r, origin);
}

static bool is_said(const struct http_request *r)
{
    return http_field(r, STR("Sec-Fetch-Site")).ptr != NULL ||
           http_field(r, STR("Origin")).ptr != NULL;
}

bool http_origin_is_own(const struct http_request *r)
{
    return is_said(r) && !http_origin_is_foreign(r);
}

/* "127.0.0.1:8480", "[::1]:8480", "localhost" */
static bool is_address(struct str host)
{
    struct network_address address;

    if (host.len > 0 && host.ptr[0] == '[')
        (void)str_cut(str_from(host, 1), ']', &host);
    else
        (void)str_cut(host, ':', &host);
    return str_eq_nocase(host, STR("localhost")) || network_address_parse(host, &address);
}

bool http_origin_is_doubtful(const struct http_request *r)
{
    return is_said(r) && (http_origin_is_foreign(r) || !is_address(http_field(r, STR("Host"))));
}
