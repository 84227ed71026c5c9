#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/network.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

TEST(network_has_what_its_bits_say)
{
    static const struct {
        const char *network, *address;
        bool has;
    } cases[] = {
        { "10.0.0.0/8", "10.255.0.1", true },
        { "10.0.0.0/8", "11.0.0.1", false },
        { "10.64.0.0/10", "10.127.0.1", true },
        { "10.64.0.0/10", "10.128.0.1", false },
        { "0.0.0.0/0", "203.0.113.9", true },
        { "0.0.0.0/0", "::1", false },
        { "127.0.0.1", "127.0.0.1", true },
        { "127.0.0.1", "127.0.0.2", false },
        { "10.0.0.0/8", "::ffff:10.1.2.3", true },
        { "fd00::/8", "fdab::1", true },
        { "fd00::/8", "fe80::1", false },
        { "::/0", "10.0.0.1", true },
        { "::1", "::1", true },
        { "::1", "::2", false },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct network n;
        struct network_address a;
        struct err err = { 0 };

        CHECK(network_parse(str_of(cases[i].network), &n, &err));
        CHECK(network_address_parse(str_of(cases[i].address), &a));
        CHECK(network_has(&n, &a) == cases[i].has);
        CHECK(network_any_has(&n, 1, &a) == cases[i].has);
        CHECK(!network_any_has(&n, 0, &a));
    }
}

TEST(network_refuses_what_is_not_one)
{
    static const char *const cases[] = {
        "",           "10.0.0.0/",   "10.0.0.0/33", "10.0.0.0/-1",  "10.1.2.3/8",
        "fd00::/129", "example.org", "10.0.0",      "0x7f000001",   "[::1]",
        "::1/",       "fd00::1/8",   "10.0.0.0/8 ", "10.0.0.0/8/8", "1.2.3.4.5",
        "010.0.0.1",
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct network n;
        struct err err = { 0 };

        CHECK(!network_parse(str_of(cases[i]), &n, &err));
        CHECK(err.text[0] != '\0');
    }
    struct network_address a;

    CHECK(!network_address_parse(STR("127.0.0.1\0"), &a));
}

TEST(network_of_a_socket)
{
    struct sockaddr_in four = { .sin_family = AF_INET };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    struct sockaddr other = { .sa_family = AF_UNIX };
    struct network_address a, b;

    CHECK(inet_pton(AF_INET, "192.0.2.7", &four.sin_addr) == 1);
    CHECK(inet_pton(AF_INET6, "::ffff:192.0.2.7", &six.sin6_addr) == 1);
    CHECK(network_address_of((struct sockaddr *)&four, &a));
    CHECK(network_address_of((struct sockaddr *)&six, &b));
    CHECK(memcmp(&a, &b, sizeof a) == 0);
    CHECK(!network_address_of(&other, &a));
}

TEST(network_address_is_written_as_people_do)
{
    static const char *const texts[] = { "10.0.0.1", "::1", "2001:db8::17", "255.255.255.255" };
    char text[NETWORK_ADDRESS_TEXT];
    struct network_address a;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CHECK(network_address_parse(str_of(texts[i]), &a));
        CHECK(str_is(str_of(network_address_text(&a, text)), texts[i]));
    }
    CHECK(network_address_parse(STR("::ffff:10.0.0.1"), &a));
    CHECK(str_is(str_of(network_address_text(&a, text)), "10.0.0.1"));
}

int main(void)
{
    return test_main();
}
