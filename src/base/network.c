#include "base/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"

enum { V4_BITS = 32, ALL_BITS = 128, V4_AT = 12 };

static const uint8_t v4_prefix[V4_AT] = { [10] = 0xff, [11] = 0xff };

static void from_v4(const void *four, struct network_address *ret)
{
    memcpy(ret->bytes, v4_prefix, sizeof v4_prefix);
    memcpy(ret->bytes + V4_AT, four, 4);
}

bool network_address_parse(struct str text, struct network_address *ret)
{
    char z[INET6_ADDRSTRLEN];
    struct in_addr four;

    if (text.len == 0 || text.len >= sizeof z || memchr(text.ptr, '\0', text.len) != NULL)
        return false;
    memcpy(z, text.ptr, text.len);
    z[text.len] = '\0';
    if (inet_pton(AF_INET, z, &four) == 1) {
        from_v4(&four, ret);
        return true;
    }
    return inet_pton(AF_INET6, z, ret->bytes) == 1;
}

const char *network_address_text(const struct network_address *address,
                                 char ret[static NETWORK_ADDRESS_TEXT])
{
    _Static_assert((int)NETWORK_ADDRESS_TEXT >= (int)INET6_ADDRSTRLEN, "an address fits");
    bool four = memcmp(address->bytes, v4_prefix, sizeof v4_prefix) == 0;

    return inet_ntop(four ? AF_INET : AF_INET6, address->bytes + (four ? V4_AT : 0), ret,
                     NETWORK_ADDRESS_TEXT);
}

bool network_address_of(const struct sockaddr *from, struct network_address *ret)
{
    if (from->sa_family == AF_INET)
        from_v4(&((const struct sockaddr_in *)(const void *)from)->sin_addr, ret);
    else if (from->sa_family == AF_INET6)
        memcpy(ret->bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr,
               sizeof ret->bytes);
    else
        return false;
    return true;
}

/* A datagram socket: limits on what a process may listen on are about streams.  Whatever else fails
 * does not make the address a foreign one. */
static bool may_bind(int family, const void *address, socklen_t len)
{
    AUTO_FD fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int no = 0;

    if (fd >= 0 && family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    return fd < 0 || bind(fd, address, len) == 0 || errno != EADDRNOTAVAIL;
}

bool network_address_is_here(const struct network_address *a)
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    struct sockaddr_in four = { .sin_family = AF_INET };
    bool is_four = memcmp(a->bytes, v4_prefix, sizeof v4_prefix) == 0;

    memcpy(&six.sin6_addr, a->bytes, sizeof a->bytes);
    memcpy(&four.sin_addr, a->bytes + V4_AT, 4);
    return is_four ? may_bind(AF_INET, &four, sizeof four) : may_bind(AF_INET6, &six, sizeof six);
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;

    return memcmp(a, b, whole) == 0 &&
           (rest == 0 || ((a[whole] ^ b[whole]) & (0xff << (8 - rest)) & 0xff) == 0);
}

static bool is_clear_behind(const struct network *n)
{
    for (unsigned i = n->bits; i < ALL_BITS; i++)
        if ((n->base.bytes[i / 8] & (0x80 >> i % 8)) != 0)
            return false;
    return true;
}

bool network_parse(struct str text, struct network *ret, struct err *err)
{
    ptrdiff_t slash = str_find(text, '/');
    struct str address = slash < 0 ? text : str_mem(text.ptr, (size_t)slash);
    bool six = str_find(address, ':') >= 0;
    uint64_t bits = six ? ALL_BITS : V4_BITS;
    struct network n = { 0 };

    if (!network_address_parse(address, &n.base))
        return err_set(err, ERR_CONFIG, 0,
                       "it is not an address or a network such as 10.0.0.0/8 or fd00::/8");
    if (slash >= 0 && (!str_to_u64(str_from(text, (size_t)slash + 1), &bits) ||
                       bits > (six ? ALL_BITS : V4_BITS)))
        return err_set(err, ERR_CONFIG, 0, "the length behind / is a number up to %d",
                       six ? ALL_BITS : V4_BITS);
    n.bits = (unsigned)bits + (six ? 0 : ALL_BITS - V4_BITS);
    if (!is_clear_behind(&n))
        return err_set(err, ERR_CONFIG, 0, "the address has bits set behind its length");
    *ret = n;
    return true;
}

bool network_has(const struct network *network, const struct network_address *address)
{
    return same_bits(network->base.bytes, address->bytes, network->bits);
}

bool network_any_has(const struct network *list, size_t count,
                     const struct network_address *address)
{
    for (size_t i = 0; i < count; i++)
        if (network_has(&list[i], address))
            return true;
    return false;
}
