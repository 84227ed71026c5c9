#include "base/key.h"

#include <ctype.h>

#include "test.h"

TEST(key_secrets_are_letters_and_digits)
{
    char one[KEY_SECRET], other[KEY_SECRET];

    key_secret(one);
    key_secret(other);
    CHECK(strlen(one) == KEY_SECRET - 1 && strcmp(one, other) != 0);
    for (const char *p = one; *p != '\0'; p++)
        CHECK(isalnum((unsigned char)*p));
}

TEST(key_is_found_by_its_name)
{
    char name[KEY_NAME], text[KEY_TEXT];
    struct sha256 made = key_make(name, text), sum = digest_of(str_of(text));

    CHECK(digest_same(&made, &sum));
    CHECK(strncmp(text, "wbk_", 4) == 0 && strlen(text) == 4 + 10 + 1 + 43);
    CHECK(str_is(key_name(str_of(text)), name));
}

TEST(key_name_of_what_is_none)
{
    static const char *const cases[] = { "", "wbk", "wbk_", "wbx_name_secret", "name", "_", "__" };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(key_name(str_of(cases[i])).len == 0);
    CHECK(str_is(key_name(STR("wbk_name_secret")), "name"));
    CHECK(str_is(key_name(STR("wbk_name")), "name"));
}

int main(void)
{
    return test_main();
}
