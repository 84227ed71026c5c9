#include "app/print.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"

static char shown[4096];

/* Everything between these two goes to `shown` instead of stdout. */
static int saved_stdout, pipe_out[2];

static void capture_begin(void)
{
    (void)fflush(stdout);
    saved_stdout = dup(STDOUT_FILENO);
    if (pipe(pipe_out) == 0)
        (void)dup2(pipe_out[1], STDOUT_FILENO);
}

static void capture_end(void)
{
    (void)fflush(stdout);
    (void)dup2(saved_stdout, STDOUT_FILENO);
    (void)close(saved_stdout);
    (void)close(pipe_out[1]);
    ssize_t n = read(pipe_out[0], shown, sizeof shown - 1);

    shown[n > 0 ? n : 0] = '\0';
    (void)close(pipe_out[0]);
}

TEST(print_text_leaves_no_control_character)
{
    capture_begin();
    print_text(stdout, "a\033[31mb\nc\x7f\xc2\x9b d\xc3\xbc");
    print_text(stdout, NULL);
    capture_end();
    CHECK(strcmp(shown, "a?[31mb?c?? d\xc3\xbc-") == 0);
}

TEST(print_size_has_a_unit_people_read)
{
    static const struct {
        int64_t bytes;
        const char *want;
    } cases[] = {
        { 0, "0 B" },
        { 1023, "1023 B" },
        { 1024, "1.0 KiB" },
        { 1536, "1.5 KiB" },
        { 64 << 20, "64.0 MiB" },
        { (int64_t)3 << 40, "3.0 TiB" },
        { (int64_t)3 << 50, "3072.0 TiB" },
    };
    char text[PRINT_SHORT];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(strcmp(print_size(cases[i].bytes, text), cases[i].want) == 0);
}

TEST(print_duration_picks_its_unit)
{
    char text[PRINT_SHORT];

    CHECK(strcmp(print_duration(7, text), "7 us") == 0);
    CHECK(strcmp(print_duration(12345, text), "12.3 ms") == 0);
    CHECK(strcmp(print_duration(2500 * CLOCK_MS, text), "2.50 s") == 0);
}

TEST(print_time_is_local_with_offset)
{
    char text[PRINT_SHORT];

    (void)setenv("TZ", "Europe/Berlin", 1);
    tzset();
    CHECK(strcmp(print_time("2026-11-15T02:52:10.123456Z", text),
                 "2026-11-15 03:52:10.123 +01:00") == 0);
    CHECK(strcmp(print_time("never", text), "never") == 0);
    CHECK(strcmp(print_time(NULL, text), "-") == 0);
}

TEST(print_table_aligns_characters_not_bytes)
{
    static const char *const heads[] = { "NAME", "N", "LAST", NULL };
    struct print_table t;

    capture_begin();
    print_table_init(&t, heads);
    print_table_cell(&t, "m\xc3\xbcller");
    print_table_cell(&t, "1");
    print_table_cell(&t, "x");
    print_table_cell(&t, NULL);
    print_table_cell(&t, "");
    print_table_cell(&t, "y");
    print_table_page(&t);
    print_table_cell(&t, "longer than before");
    print_table_cell(&t, "3");
    print_table_cell(&t, "z");
    print_table_page(&t);
    print_table_done(&t);
    print_table_done(&t);
    capture_end();
    CHECK(strcmp(shown, "NAME    N  LAST\n"
                        "m\xc3\xbcller  1  x\n"
                        "-       -  y\n"
                        "longer than before  3  z\n") == 0);
}

TEST(print_table_cuts_a_long_cell_at_a_character)
{
    static const char *const heads[] = { "A", "B", NULL };
    char longest[PRINT_CELL + 20];
    struct print_table t;

    memset(longest, 'a', sizeof longest);
    longest[PRINT_CELL - 1] = '\xc3'; /* the second byte of the character falls over the edge */
    longest[PRINT_CELL] = '\xbc';
    longest[sizeof longest - 1] = '\0';
    print_table_init(&t, heads);
    print_table_cell(&t, longest);
    print_table_cell(&t, longest);
    CHECK(strlen(t.cells[0]) == PRINT_CELL - 1);
    CHECK(strlen(t.cells[1]) == sizeof longest - 1); /* the last column is never cut */
    print_table_done(&t);
}

int main(void)
{
    return test_main();
}
