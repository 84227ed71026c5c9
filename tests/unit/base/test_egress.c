/* Where a node sends nothing, asked by the address that a socket would connect to. */
#include "base/egress.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "base/require.h"
#include "test.h"

static const char *bars(const struct egress *e, const char *text)
{
    struct sockaddr_in four = { .sin_family = AF_INET };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };

    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        return egress_bars(e, (const struct sockaddr *)&four);
    require(inet_pton(AF_INET6, text, &six.sin6_addr) == 1);
    return egress_bars(e, (const struct sockaddr *)&six);
}

static bool is_gateway(struct str path)
{
    return str_starts(path, STR("/in/"));
}

TEST(egress_bars_link_local_and_metadata_addresses)
{
    static const char *const closed[] = {
        "169.254.0.0",       "169.254.169.254",      "169.254.255.255",   "::ffff:169.254.169.254",
        "::169.254.169.254", "64:ff9b::a9fe:a9fe",   "2002:a9fe:a9fe::1", "fe80::1",
        "febf::1",           "fd00:ec2::254",        "fd20:ce::254",      "100.100.100.200",
        "192.0.0.192",       "64:ff9b:1::a9fe:a9fe", "168.63.129.16",
    };
    static const char *const open[] = {
        "127.0.0.1", "::1",          "10.0.0.1",           "192.168.1.1",    "169.253.255.255",
        "0.0.0.0",   "fd00:ec2::25", "64:ff9b::192.0.2.1", "170.254.169.254"
    };
    struct egress e = { .is_gateway = is_gateway };

    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
        if (bars(&e, closed[i]) == NULL)
            printf("# %s\n", closed[i]);
        CHECK(bars(&e, closed[i]) != NULL);
        CHECK(bars(NULL, closed[i]) == NULL);
    }
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        CHECK(bars(&e, open[i]) == NULL);
}

TEST(egress_has_exceptions)
{
    struct network allowed;
    struct err err;
    struct egress e = { .allowed = &allowed, .allowed_count = 1, .is_gateway = is_gateway };

    CHECK(network_parse(STR("169.254.7.0/24"), &allowed, &err));
    CHECK(bars(&e, "169.254.7.1") == NULL && bars(&e, "::ffff:169.254.7.1") == NULL);
    CHECK(bars(&e, "64:ff9b::169.254.7.1") == NULL);
    CHECK(bars(&e, "169.254.8.1") != NULL && bars(&e, "fe80::1") != NULL);
}

TEST(egress_leaves_of_the_own_paths_the_gateways)
{
    struct network allowed;
    struct err err;
    struct egress e = { .allowed = &allowed, .is_gateway = is_gateway, .own_port = 8480 };
    static const char *const closed[] = {
        "http://h:8480/graphql",
        "http://h:8480",
        "http://h:8480/",
        "http://h:8480?/in/x",
        "http://h:8480/graphql#/in/x",
        "http://h:8480/in/../graphql",
        "http://h:8480/in/%2E%2e/graphql",
        "http://h:8480/In/x",
    };

    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++)
        CHECK(egress_bars_own(&e, "127.0.0.1", 8480, str_of(closed[i])) != NULL);
    CHECK(egress_bars_own(&e, "127.0.0.1", 8480, STR("http://h:8480/in/orders")) == NULL);
    CHECK(egress_bars_own(&e, "127.0.0.1", 8481, STR("http://h:8481/graphql")) == NULL);
    CHECK(egress_bars_own(&e, "127.3.2.1", 8480, STR("http://h:8480/graphql")) != NULL);
    CHECK(egress_bars_own(&e, "0.0.0.0", 8480, STR("http://h:8480/graphql")) != NULL);
    CHECK(egress_bars_own(&e, "192.0.2.1", 8480, STR("http://h:8480/graphql")) == NULL);
    CHECK(network_parse(STR("127.0.0.1"), &allowed, &err));
    e.allowed_count = 1;
    CHECK(egress_bars_own(&e, "127.0.0.1", 8480, STR("http://h:8480/graphql")) == NULL);
}

TEST(egress_allows_servers_by_their_names)
{
    struct egress e = { .is_gateway = is_gateway };
    struct err err = { 0 };

    CHECK(egress_allows(NULL, STR("169.254.169.254"), &err));
    CHECK(egress_allows(&e, STR(""), &err) && egress_allows(&e, STR("/run/postgresql"), &err));
    CHECK(egress_allows(&e, STR("127.0.0.1, ::1,/tmp,"), &err));
    CHECK(!egress_allows(&e, STR("127.0.0.1,169.254.1.1"), &err) && err.kind == ERR_CONFIG);
    CHECK(strcmp(err.text, "nothing is sent to this server: it is a link-local address; "
                           "node.egress can allow it") == 0);
    CHECK(!egress_allows(&e, str_mem("a\0b", 3), &err) && err.kind == ERR_CONFIG);
    CHECK(!egress_allows(&e, STR("name.invalid"), &err) && err.kind == ERR_TRANSIENT);
}

int main(void)
{
    return test_main();
}
