#include "service/schema/decimal.h"

#include "test.h"

static struct decimal of(const char *text)
{
    struct decimal d;

    return decimal_read(str_of(text), &d) ? d : (struct decimal){ .exponent = -999 };
}

TEST(numbers_are_compared_by_their_value)
{
    /* In ascending order; those of one line are the same. */
    static const char *const rows[][4] = {
        { "-1e999999999" },
        { "-123456789012345678901234567891" },
        { "-123456789012345678901234567890", "-1.2345678901234567890123456789e29" },
        { "-2", "-2.0", "-20e-1" },
        { "-1.5" },
        { "-0.001", "-1e-3", "-0.1E-2" },
        { "0", "-0", "0.000", "0e5" },
        { "1e-999999999" },
        { "0.1", "1e-1", "0.100", "10e-2" },
        { "0.30000000000000000000000000000000001" },
        { "1", "1.0", "10e-1", "0.01e2" },
        { "1.10", "1.1", "11e-1", "0.11e+1" },
        { "9007199254740992" },
        { "9007199254740993", "9007199254740993.0" },
        { "99999999999999999999" },
        { "1e20", "100000000000000000000", "1.0E+20", "0.1e021" },
        { "1e400" },
    };
    enum { ROWS = sizeof rows / sizeof *rows };

    for (int i = 0; i < ROWS * 4; i++)
        for (int k = 0; k < ROWS * 4; k++) {
            const char *x = rows[i / 4][i % 4], *y = rows[k / 4][k % 4];

            if (x == NULL || y == NULL)
                continue;
            struct decimal a = of(x), b = of(y);
            int c = decimal_compare(&a, &b), want = i / 4 - k / 4;

            if ((c > 0) - (c < 0) != (want > 0) - (want < 0))
                printf("# %s and %s\n", x, y);
            CHECK((c > 0) - (c < 0) == (want > 0) - (want < 0));
            CHECK(c != 0 || a.count == 0 || decimal_hash(&a) == decimal_hash(&b));
        }
}

TEST(whole_numbers_have_no_fraction)
{
    static const char *const whole[] = { "0",    "-0.0",   "1",
                                         "1.0",  "1.50e1", "123456789012345678901",
                                         "1e400" };
    static const char *const others[] = { "0.1", "1.5", "15e-1", "1e-400",
                                          "12345678901234567890.5" };

    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        struct decimal d = of(whole[i]);

        CHECK(decimal_is_integer(&d));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct decimal d = of(others[i]);

        CHECK(!decimal_is_integer(&d));
    }
}

TEST(multiples_are_exact)
{
    static const struct {
        const char *number, *of;
        bool is;
    } cases[] = {
        { "0", "7", true },
        { "21", "7", true },
        { "-21.0", "7", true },
        { "22", "7", false },
        { "0.3", "0.1", true }, /* not so with doubles */
        { "19.99", "0.01", true },
        { "1.1", "0.2", false },
        { "123456789012345678901234567890", "10", true },
        { "123456789012345678901234567891", "10", false },
        { "123456789012345678901234567890", "3", true },
        { "1e400", "1e-3", true },
        { "1e400", "7", false },
        { "7e300", "7", true },
        { "1e-9", "1e-8", false },
        { "999999999999999999000", "999999999999999999", true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct decimal d = of(cases[i].number), by = of(cases[i].of);
        struct decimal_divisor divisor;

        CHECK(decimal_divisor_of(&by, &divisor));
        if (decimal_is_multiple(&d, &divisor) != cases[i].is)
            printf("# %s of %s\n", cases[i].number, cases[i].of);
        CHECK(decimal_is_multiple(&d, &divisor) == cases[i].is);
    }
}

TEST(what_is_too_long_is_refused)
{
    struct decimal d;
    struct decimal_divisor divisor;

    CHECK(decimal_read(STR("1e000000000000999999999"), &d));
    CHECK(!decimal_read(STR("1e1000000000"), &d) && !decimal_read(STR("1e-1000000000"), &d));
    d = of("1234567890123456789");
    CHECK(!decimal_divisor_of(&d, &divisor));
    d = of("0");
    CHECK(!decimal_divisor_of(&d, &divisor));
    d = of("-1");
    CHECK(!decimal_divisor_of(&d, &divisor));
}

int main(void)
{
    return test_main();
}
