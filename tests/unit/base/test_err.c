#include "test.h"

#include <errno.h>

#include "base/err.h"

TEST(err_set_fills_everything_and_returns_false)
{
    struct err err = { .text = "old" };

    CHECK(!err_set(&err, ERR_LIMIT, ENOSPC, "payload over %zu bytes", (size_t)64));
    CHECK(err.kind == ERR_LIMIT && err.sys == ENOSPC);
    CHECK(strcmp(err.text, "payload over 64 bytes") == 0);
    CHECK(strstr(err.where, "test_err.c:") != NULL);
}

TEST(err_text_is_one_line)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        { "plain", "plain" },
        { "", "" },
        { "ends in a newline\n", "ends in a newline" },
        { "two\nlines\r\n\n", "two lines" },
        { "tab\there\x01\x7f.", "tab here  ." },
        { "\n", "" },
        { "caf\xc3\xa9", "caf\xc3\xa9" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = { 0 };

        CHECK(!err_set(&err, ERR_PERMANENT, 0, "%s", cases[i].in));
        CHECK(strcmp(err.text, cases[i].want) == 0);
    }
}

TEST(err_context_goes_in_front)
{
    struct err err = { 0 };

    CHECK(!err_set(&err, ERR_TRANSIENT, EACCES, "permission denied"));
    CHECK(!err_context(&err, "open %s", "a.txt"));
    CHECK(!err_context(&err, "spool\n"));
    CHECK(strcmp(err.text, "spool: open a.txt: permission denied") == 0);
    CHECK(err.kind == ERR_TRANSIENT && err.sys == EACCES);
    CHECK(!err_context(&err, "again %s", err.text)); /* its own text is a fair argument */
    CHECK(strncmp(err.text, "again spool: open a.txt: permission denied: spool", 49) == 0);
}

TEST(what_fails_behind_a_change_is_uncertain)
{
    static const enum err_kind kinds[] = { ERR_TRANSIENT, ERR_PERMANENT, ERR_UNCERTAIN, ERR_LIMIT,
                                           ERR_CONFIG };
    struct err err = { 0 };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        CHECK(!err_set(&err, kinds[i], EACCES, "permission denied"));
        CHECK(!err_behind(&err, "hold %d is placed", 7));
        CHECK(err.kind == ERR_UNCERTAIN && err.sys == EACCES);
        CHECK(strcmp(err.text, "hold 7 is placed: permission denied") == 0);
    }
    err = (struct err){ 0 }; /* there was none of it, as some say */
    CHECK(!err_behind(&err, "hold 7 is placed"));
    CHECK(err.kind == ERR_UNCERTAIN && err.where != NULL);
    CHECK(strcmp(err.text, "hold 7 is placed: it is not there") == 0);
}

TEST(err_text_is_cut_and_the_cause_stays)
{
    char longer[1000];
    struct err err = { 0 };

    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK(!err_set(&err, ERR_PERMANENT, 0, "%s", longer));
    CHECK(strlen(err.text) == sizeof err.text - 1);
    CHECK(!err_context(&err, "%s", longer));
    CHECK(strlen(err.text) == sizeof err.text - 1);

    CHECK(!err_set(&err, ERR_PERMANENT, 0, "no space left on device"));
    CHECK(!err_context(&err, "%s", longer));
    CHECK(strstr(err.text, ": no space left on device") != NULL);
}

int main(void)
{
    return test_main();
}
