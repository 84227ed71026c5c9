#include "stepping.h"
#include "test.h"

TEST(charset_converts)
{
    static const struct {
        const char *yaml;
        struct str in, want;
    } cases[] = {
        { "charset: ISO-8859-1", STR("K\xe4se"), STR("K\xc3\xa4se") },
        { "charset: { from: UTF-8, to: ISO-8859-1 }", STR("K\xc3\xa4se"), STR("K\xe4se") },
        { "charset: windows-1252", STR("5 \x80"), STR("5 \xe2\x82\xac") },
        { "charset: { from: ISO-8859-15, to: windows-1252 }", STR("\xa4"), STR("\x80") },
        { "charset: UTF-16LE", STR("a\0\x3d\xd8\x00\xde"), STR("a\xf0\x9f\x98\x80") },
        { "charset: UTF-8", STR("\xf0\x9f\x98\x80"), STR("\xf0\x9f\x98\x80") },
        /* states, which end at the end */
        { "charset: ISO-2022-JP", STR("a\x1b$B$\"$$\x1b(Bb"),
          STR("a\xe3\x81\x82\xe3\x81\x84"
              "b") },
        { "charset: { from: UTF-8, to: ISO-2022-JP }", STR("\xe3\x81\x82"),
          STR("\x1b$B$\"\x1b(B") },
        /* a byte order mark is not text */
        { "charset: UTF-16", STR("\xff\xfe\xe4\0"), STR("\xc3\xa4") },
        { "charset: UTF-8", STR("\xef\xbb\xbf{}"), STR("{}") },
        { "charset: { from: UTF-8, to: ISO-8859-1 }", STR("\xef\xbb\xbf{}"), STR("{}") },
        { "charset: UTF-8", STR("a\xef\xbb\xbf"), STR("a\xef\xbb\xbf") },
        { "charset: UTF-8", STR(""), STR("") },
        { "charset: { from: UTF-8, to: ISO-2022-JP }", STR(""), STR("") },
        /* replaced */
        { "charset: { from: UTF-8, bad: replace }",
          STR("a\xff"
              "b\xe4 \xe2\x82"),
          STR("a\xef\xbf\xbd"
              "b\xef\xbf\xbd \xef\xbf\xbd") },
        { "charset: { from: UTF-8, to: ISO-8859-1, bad: replace }",
          STR("1 \xe2\x82\xac \xff \xc3\xa4"), STR("1 ? ? \xe4") },
        { "charset: { from: UTF-16LE, bad: replace }",
          STR("\x00\xdc"
              "a\0"),
          STR("\xef\xbf\xbd"
              "a") },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(step_done) struct step s = step_of(&service_charset, cases[i].yaml);

        printf("# %s\n", cases[i].yaml);
        CHECK(s.self != NULL);
        CHECK(step_run(&s, cases[i].in) && s.ok);
        CHECK(str_eq(buf_view(&s.m.out), cases[i].want));
    }
}

TEST(charset_says_where_it_failed)
{
    static const struct {
        const char *yaml;
        struct str in;
        const char *message;
    } cases[] = {
        { "charset: UTF-8",
          STR("ab\xe4"
              "c"),
          "not UTF-8, at byte 3: e4 63" },
        { "charset: UTF-8", STR("\xff"), "at byte 1: ff" },
        { "charset: UTF-8", STR("ab\xe2\x82"),
          "ends within a character of UTF-8, at byte 3: e2 82" },
        { "charset: UTF-16LE", STR("a\0b"), "at byte 3: 62" },
        { "charset: UTF-8", STR("\xc0\xaf"), "at byte 1: c0 af" },      /* an overlong slash */
        { "charset: UTF-8", STR("a\xed\xa0\x80"), "at byte 2: ed a0" }, /* half of a pair */
        /* beyond U+10FFFF */
        { "charset: UTF-8", STR("a\xf4\x90\x80\x80"), "at byte 2" },
        { "charset: UTF-8", STR("ab\xfb\xb2\xb2\xb2\xb2"), "at byte 3" },
        { "charset: UCS-4BE", STR("\0\0\0a\0\x11\0\0"), "at byte 5" },
        { "charset: { from: UTF-8, to: ISO-8859-1 }", STR("\xc3\xa4 \xe2\x82\xac!"),
          "at byte 4 stands U+20AC, which ISO-8859-1 does not have" },
        { "charset: { from: UTF-16, to: ISO-8859-1 }",
          STR("\xff\xfe"
              "a\0\xac\x20"),
          "at byte 5 stands U+20AC" },
        { "charset: { from: UTF-8, to: US-ASCII }", STR("\xf0\x9f\x98\x80"),
          "at byte 1 stands U+1F600" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(step_done) struct step s = step_of(&service_charset, cases[i].yaml);

        CHECK(s.self != NULL);
        CHECK(step_fails(&s, cases[i].in, DEAD_SERVICE_FAILED, cases[i].message));
    }
}

/* The place of a character that cannot be written is found again far behind the first block. */
TEST(charset_finds_a_place_far_behind)
{
    AUTO(step_done)
    struct step s = step_of(&service_charset, "charset: { from: UTF-8, to: latin1 }");
    AUTO(buf_done) struct buf in = BUF_INIT(1 << 20);

    CHECK(s.self != NULL);
    for (int i = 0; i < 50000; i++)
        buf_puts(&in, "\xc3\xa4x");
    buf_puts(&in, "\xe2\x82\xac");
    CHECK(step_fails(&s, buf_view(&in), DEAD_SERVICE_FAILED, "at byte 150001 stands U+20AC"));
}

TEST(charset_refuses_names_it_cannot_use)
{
    static const char *const wrong[] = {
        "charset: { to: UTF-8 }",         "charset: KLINGON",
        "charset: UTF-8//IGNORE",         "charset: { from: UTF-8, to: ASCII//TRANSLIT }",
        "charset: { from: \"a,ccs=b\" }", "charset: { from: UTF-8, to: nothing }",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        AUTO(step_done) struct step s = step_of(&service_charset, wrong[i]);

        CHECK(s.self == NULL && s.err.kind == ERR_CONFIG);
    }
}

int main(void)
{
    return test_main();
}
