/* Where a request comes from.  A proxy that is trusted says it, in Forwarded (RFC 7239) or in
 * X-Forwarded-For; what stands there is believed from the right, as far as trusted proxies wrote
 * it.  Most proxies write one of the two fields and pass the other one on as the client sent it:
 * when both are there and disagree, neither is believed.
 */
#include <string.h>

#include "base/container_of.h"
#include "base/http_conn.h"
#include "base/network.h"
#include "base/require.h"

static bool is_trusted(const struct request *r, const struct network_address *address)
{
    const struct http_server_options *o = &r->conn->io->server->o;

    return network_any_has(o->trust, o->trust_count, address);
}

/* "10.0.0.1", "10.0.0.1:4711", "2001:db8::1", "[2001:db8::1]:4711"; each also in quotes. */
static bool parse_node(struct str text, struct network_address *ret)
{
    struct str host, rest;

    text = str_trim(text);
    if (text.len >= 2 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"')
        text = str_mem(text.ptr + 1, text.len - 2);
    if (text.len > 0 && text.ptr[0] == '[') {
        rest = str_cut(str_from(text, 1), ']', &host);
        return network_address_parse(host, ret);
    }
    rest = str_cut(text, ':', &host);
    return network_address_parse(str_find(rest, ':') < 0 ? host : text, ret);
}

/* Of "for=10.0.0.1;proto=https" the address. */
static bool parse_element(struct str element, struct network_address *ret)
{
    struct str pair, name;

    while (element.len > 0) {
        element = str_cut(element, ';', &pair);
        struct str value = str_cut(str_trim(pair), '=', &name);

        if (str_eq_nocase(name, STR("for")))
            return parse_node(value, ret);
    }
    return false;
}

/* Removes what stands behind the last comma of *list. */
static struct str cut_last(struct str *list)
{
    size_t at = list->len;

    while (at > 0 && list->ptr[at - 1] != ',')
        at--;
    struct str last = str_from(*list, at);

    list->len = at > 0 ? at - 1 : 0;
    return last;
}

/* Goes back from *address along the fields of that name as far as trusted proxies wrote them.  A
 * comma inside quotes is taken for one between elements: a quote that a client left open must not
 * swallow what the proxy added.  False: there is no such field. */
static bool walk_back(const struct request *r, struct str name,
                      bool (*parse)(struct str, struct network_address *),
                      struct network_address *address)
{
    const struct http_parser *p = &r->parser;
    bool is_there = false;

    for (size_t i = p->field_count; i-- > 0;) {
        if (!str_eq_nocase(http_parser_view(p, p->fields[i].name), name))
            continue;
        struct str list = http_parser_view(p, p->fields[i].value);

        is_there = true;
        while (list.len > 0) {
            struct network_address before;

            if (!is_trusted(r, address) || !parse(cut_last(&list), &before))
                return true;
            *address = before;
        }
    }
    return is_there;
}

static void ask_proxies(const struct request *r, struct network_address *address)
{
    struct network_address by_standard = *address, by_custom = *address;
    bool standard = walk_back(r, STR("Forwarded"), parse_element, &by_standard);
    bool custom = walk_back(r, STR("X-Forwarded-For"), parse_node, &by_custom);

    if (standard && custom && memcmp(&by_standard, &by_custom, sizeof by_standard) != 0)
        return;
    *address = standard ? by_standard : by_custom;
}

static bool http_peer_address(struct http_request *pub, struct network_address *ret)
{
    const struct request *r = container_of(pub, struct request, pub);
    struct network_address address;

    require(r->conn->magic == HTTP_CONN_MAGIC);
    if (!network_address_of(&r->conn->peer.any, &address))
        return false;
    if (is_trusted(r, &address))
        ask_proxies(r, &address);
    *ret = address;
    return true;
}

bool http_peer_is_in(struct http_request *pub, const struct network *list, size_t count)
{
    struct network_address address;

    return http_peer_address(pub, &address) && network_any_has(list, count, &address);
}

struct str http_peer(struct http_request *pub)
{
    struct request *r = container_of(pub, struct request, pub);
    struct network_address address;

    if (r->peer[0] == '\0') {
        if (!http_peer_address(pub, &address))
            return STR("unknown");
        (void)network_address_text(&address, r->peer);
    }
    return str_of(r->peer);
}
