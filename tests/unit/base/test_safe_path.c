#include "test.h"

#include "base/safe_path.h"

static char long_part[SAFE_NAME_MOST + 2], long_path[SAFE_PATH_MOST + 2], deep[64];

/* proves: FI11 S3 */
TEST(safe_path_takes_only_what_stays_below)
{
    memset(long_part, 'a', sizeof long_part - 1);
    for (size_t i = 0; i < sizeof long_path - 1; i++)
        long_path[i] = i % 200 == 199 ? '/' : 'a';
    for (size_t i = 0; i < 33; i++)
        deep[i] = i % 2 == 0 ? 'd' : '/';
    const struct {
        struct str path;
        bool path_ok, name_ok;
    } cases[] = {
        { STR("order.xml"), true, true },
        { STR("acme/2026-11-15/order.xml"), true, false },
        { STR("..."), true, true },
        { STR("..a"), true, true },
        { STR("a b & c;$(x).xml"), true, true },
        { STR("gr\xc3\xbc\xc3\x9f"), true, true },
        { STR("\\..\\x"), true, true }, /* a backslash is a letter like any other */
        { STR(""), false, false },
        { STR("."), false, false },
        { STR(".."), false, false },
        { STR("../x"), false, false },
        { STR("a/../x"), false, false },
        { STR("a/./x"), false, false },
        { STR("a//x"), false, false },
        { STR("/etc/passwd"), false, false },
        { STR("a/"), false, false },
        { STR("a/.."), false, false },
        { STR("a\nb"), false, false },
        { STR("a\0b"), false, false },
        { STR("a\x1b[2J"), false, false },
        { STR("a\x7f"), false, false },
        { STR("\xff\xfe"), false, false },
        { { long_part, SAFE_NAME_MOST }, true, true },
        { { long_part, SAFE_NAME_MOST + 1 }, false, false },
        { { long_path, SAFE_PATH_MOST }, true, false },
        { { long_path, SAFE_PATH_MOST + 1 }, false, false },
        { { deep, 31 }, true, false },
        { { deep, 33 }, false, false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };

        CHECK(safe_path(cases[i].path, &err) == cases[i].path_ok);
        CHECK(err.kind == (cases[i].path_ok ? ERR_NONE : ERR_PERMANENT));
        CHECK(safe_name(cases[i].path, &err) == cases[i].name_ok);
    }
}

int main(void)
{
    return test_main();
}
