#include "base/egress.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define V4(...)                                            \
    {                                                      \
        .bytes = { [10] = 0xff, [11] = 0xff, __VA_ARGS__ } \
    }
enum {
    V4_BITS = 96,      /* in front of an IPv4 address */
    SERVER_MOST = 1025 /* of the name of one: NI_MAXHOST */
};

static const struct {
    struct network network;
    const char *why;
} barred[] = {
    { { V4(169, 254), V4_BITS + 16 }, "it is a link-local address; node.egress can allow it" },
    { { { .bytes = { 0xfe, 0x80 } }, 10 }, "it is a link-local address; node.egress can allow it" },
    { { { .bytes = { 0xfd, 0, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54 } }, 128 },
      "it is a metadata service; node.egress can allow it" },
    { { { .bytes = { 0xfd, 0x20, 0, 0xce, [14] = 0x02, [15] = 0x54 } }, 128 },
      "it is a metadata service; node.egress can allow it" },
    { { V4(100, 100, 100, 200), V4_BITS + 32 },
      "it is a metadata service; node.egress can allow it" },
    { { V4(192, 0, 0, 192), V4_BITS + 32 }, "it is a metadata service; node.egress can allow it" },
    { { V4(168, 63, 129, 16), V4_BITS + 32 },
      "it is a metadata service; node.egress can allow it" },
};

/* Ways to write an IPv4 address in IPv6, and where it stands in them. */
static const struct {
    struct network network;
    size_t at;
} wrapped[] = {
    { { { .bytes = { 0, 0x64, 0xff, 0x9b } }, 96 }, 12 },       /* NAT64 */
    { { { .bytes = { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 }, 12 }, /* NAT64 of a network's own */
    { { { .bytes = { 0x20, 0x02 } }, 16 }, 2 },                 /* 6to4 */
    { { { .bytes = { 0 } }, 96 }, 12 },                         /* "IPv4-compatible" */
};

static struct network_address unwrap(const struct network_address *a)
{
    struct network_address four = V4(0);

    for (size_t i = 0; i < sizeof wrapped / sizeof wrapped[0]; i++)
        if (network_has(&wrapped[i].network, a)) {
            memcpy(four.bytes + V4_BITS / 8, a->bytes + wrapped[i].at, 4);
            return four;
        }
    return *a;
}

static bool egress_lists(const struct egress *e, const struct network_address *a)
{
    return network_any_has(e->allowed, e->allowed_count, a);
}

const char *egress_bars(const struct egress *e, const struct sockaddr *to)
{
    struct network_address as_written;

    if (e == NULL || !network_address_of(to, &as_written) || egress_lists(e, &as_written))
        return NULL;
    struct network_address a = unwrap(&as_written);

    for (size_t i = 0; i < sizeof barred / sizeof barred[0]; i++)
        if (network_has(&barred[i].network, &a) && !egress_lists(e, &a))
            return barred[i].why;
    return NULL;
}

static bool egress_allows_one(const struct egress *e, const char *server, struct err *err)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    const char *why = NULL;

    if (getaddrinfo(server, NULL, &hints, &found) != 0)
        return err_set(err, ERR_TRANSIENT, 0, "the name of the server cannot be resolved");
    for (const struct addrinfo *a = found; a != NULL && why == NULL; a = a->ai_next)
        why = egress_bars(e, a->ai_addr);
    freeaddrinfo(found);
    return why == NULL || err_set(err, ERR_CONFIG, 0, "nothing is sent to this server: %s", why);
}

bool egress_allows(const struct egress *e, struct str servers, struct err *err)
{
    char name[SERVER_MOST];
    struct str one;

    while (e != NULL && servers.len > 0) {
        servers = str_cut(servers, ',', &one);
        one = str_trim(one);
        if (one.len == 0 || one.ptr[0] == '/')
            continue;
        if (one.len >= sizeof name || memchr(one.ptr, '\0', one.len) != NULL)
            return err_set(err, ERR_CONFIG, 0, "the name of the server is none");
        (void)snprintf(name, sizeof name, "%.*s", STR_ARG(one));
        if (!egress_allows_one(e, name, err))
            return false;
    }
    return true;
}

/* Whether a segment of the path begins with a dot, which may lead out of it again. */
static bool has_dots(struct str path)
{
    for (size_t i = 0; i + 1 < path.len; i++)
        if (path.ptr[i] == '/' &&
            (path.ptr[i + 1] == '.' || str_starts(str_from(path, i + 1), STR("%2e")) ||
             str_starts(str_from(path, i + 1), STR("%2E"))))
            return true;
    return false;
}

static struct str egress_path_of(struct str url)
{
    struct str head, path;
    ptrdiff_t scheme = str_find(url, ':');

    (void)str_cut(url, '?', &url);
    (void)str_cut(url, '#', &url);
    path = str_from(url, (size_t)(scheme < 0 ? 0 : scheme) + strlen("://"));
    (void)str_cut(path, '/', &head);
    return str_from(path, head.len);
}

const char *egress_bars_own(const struct egress *e, const char *ip, int port, struct str url)
{
    struct network_address a;

    if (e == NULL || port != atomic_load_explicit(&e->own_port, memory_order_relaxed) || port == 0)
        return NULL;
    struct str path = egress_path_of(url);

    if (e->is_gateway(path) && !has_dots(path))
        return NULL;
    if (!network_address_parse(str_of(ip), &a) || egress_lists(e, &a) ||
        !network_address_is_here(&a))
        return NULL;
    return "it is the administration of this node; node.egress can allow it";
}
