#include "core/mail/mail_address.h"
#include "test.h"

static bool parses(struct str text, const char *name, const char *address)
{
    struct mail_address a;
    struct err err = { 0 };

    return mail_address_parse(text, &a, &err) && str_is(a.name, name) && str_is(a.address, address);
}

static bool is_refused(struct str text)
{
    struct mail_address a;
    struct err err = { 0 };

    return !mail_address_parse(text, &a, &err) && err.kind == ERR_PERMANENT && err.text[0] != '\0';
}

TEST(mailboxes_are_read)
{
    CHECK(parses(STR("a@b"), "", "a@b"));
    CHECK(parses(STR("  orders+x.y@mail.example.org "), "", "orders+x.y@mail.example.org"));
    CHECK(parses(STR("<a@b>"), "", "a@b"));
    CHECK(parses(STR("Order desk <a@b>"), "Order desk", "a@b"));
    CHECK(parses(STR("\"Desk, orders\" <a@b>"), "Desk, orders", "a@b"));
    CHECK(parses(STR("B\xc3\xbcro <a@b-c.d>"), "B\xc3\xbcro", "a@b-c.d"));
    CHECK(parses(STR("a@[192.0.2.1]"), "", "a@[192.0.2.1]"));
    CHECK(parses(STR("a@[IPv6:2001:db8::1]"), "", "a@[IPv6:2001:db8::1]"));
}

/* proves: S3 */
TEST(what_could_leave_its_place_is_refused)
{
    char local[MAIL_LOCAL_MOST + 4], name[MAIL_NAME_MOST + 8], all[MAIL_ADDRESS_MOST + 8];
    const struct str wrong[] = {
        STR(""),
        STR("a"),
        STR("@b"),
        STR("a@"),
        STR("a@b@c"),
        STR("a b@c"),
        STR("a@b c"),
        STR("a,x@b"),
        STR("a@b,c@d"),
        STR("a@b\r\nRCPT TO:<x@y>"),
        STR("a@b\0c"),
        STR("a@b>\nBcc: x@y"),
        STR("x\r\nBcc: y@z <a@b>"),
        STR("x\xff <a@b>"),
        STR(".a@b"),
        STR("a.@b"),
        STR("a..b@c"),
        STR("a@.b"),
        STR("a@b."),
        STR("a@-b"),
        STR("a@b..c"),
        STR("\"a b\"@c"),
        STR("\xc3\xa4@b"),
        STR("a@b\xc3\xa4"),
        STR("a@[x y]"),
        STR("a@[]"),
        STR("<a@b> SIZE=1"),
        STR("x <a@b"),
        STR("x <<a@b>>"),
        { local, sizeof local },
        { name, sizeof name },
        { all, sizeof all },
    };

    memset(local, 'a', sizeof local);
    memcpy(local + sizeof local - 2, "@b", 2);
    memset(name, 'n', sizeof name);
    memcpy(name + sizeof name - 5, "<a@b>", 5);
    memset(all, 'd', sizeof all);
    memcpy(all, "a@", 2);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (!is_refused(wrong[i]))
            printf("# number %zu\n", i);
        CHECK(is_refused(wrong[i]));
    }
}

TEST(the_domain_follows_the_at)
{
    struct mail_address a = { .address = STR("x@mail.example.org") };

    CHECK(str_is(mail_address_domain(&a), "mail.example.org"));
}

int main(void)
{
    return test_main();
}
