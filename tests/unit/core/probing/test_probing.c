/* test_probing.c - the lines of a probe: what is kept of them, and who may read them when. */
#include "core/probing/probing.h"

#include <string.h>

#include "base/clock.h"
#include "test.h"

TEST(each_step_is_a_line_in_its_order)
{
    struct probing_line lines[PROBING_LINES];
    struct probing p;
    const char *at;

    probing_init(&p, clock_mono_us() + CLOCK_S);
    probing_begin(&p, "name");
    CHECK(probing_read(&p, lines, &at) == 0 && strcmp(at, "name") == 0);
    CHECK(probing_pass(&p, "name", "%s is %s", "far", "10.0.0.1"));
    probing_leave(&p, "TLS", "not used");
    CHECK(!p.failed);
    probing_begin(&p, "login");
    CHECK(!probing_fail(&p, "login", "check `user`", "it said %d", 530));
    CHECK(p.failed);
    CHECK(probing_read(&p, lines, &at) == 3 && at == NULL);
    CHECK(lines[0].result == PROBING_PASSED && strcmp(lines[0].step, "name") == 0);
    CHECK(strcmp(lines[0].text, "far is 10.0.0.1") == 0 && lines[0].remedy[0] == '\0');
    CHECK(lines[1].result == PROBING_LEFT_OUT && strcmp(lines[1].text, "not used") == 0);
    CHECK(lines[2].result == PROBING_FAILED && strcmp(lines[2].text, "it said 530") == 0);
    CHECK(strcmp(lines[2].remedy, "check `user`") == 0);
    probing_done(&p);
}

/* What a server says goes into lines: it cannot break them. */
TEST(a_line_is_one_line_of_text)
{
    struct probing_line lines[PROBING_LINES];
    char words[2 * PROBING_TEXT];
    struct probing p;
    const char *at;

    memset(words, 'w', sizeof words);
    words[sizeof words - 1] = '\0';
    probing_init(&p, 0);
    (void)probing_fail(&p, "login", "do", "530 no\r\nresult  passed\x1b[2J");
    (void)probing_fail(&p, "login", words, "\xff\xfe: %s", words);
    CHECK(probing_read(&p, lines, &at) == 2);
    CHECK(strpbrk(lines[0].text, "\r\n\x1b") == NULL);
    CHECK(strncmp(lines[1].text, "??: www", 7) == 0);
    CHECK(strlen(lines[1].text) < PROBING_TEXT && strlen(lines[1].remedy) < PROBING_TEXT);
    probing_done(&p);
}

TEST(more_lines_than_there_is_room_for_are_dropped)
{
    struct probing_line lines[PROBING_LINES];
    struct probing p;
    const char *at;

    probing_init(&p, 0);
    for (int i = 0; i < PROBING_LINES + 5; i++)
        (void)probing_pass(&p, "name", "%d", i);
    (void)probing_fail(&p, "connect", "", "x");
    CHECK(probing_read(&p, lines, &at) == PROBING_LINES && p.failed);
    CHECK(strcmp(lines[PROBING_LINES - 1].text, "15") == 0);
    probing_done(&p);
}

TEST(there_is_never_no_time_and_never_too_much)
{
    struct probing p;

    probing_init(&p, clock_mono_us() - CLOCK_S);
    CHECK(probing_time(&p, CLOCK_S) > 0);
    probing_done(&p);
    probing_init(&p, clock_mono_us() + 3600 * (int64_t)CLOCK_S);
    CHECK(probing_time(&p, CLOCK_S) == CLOCK_S);
    probing_done(&p);
}

TEST(files_of_probes_have_names_of_their_own)
{
    char a[PROBING_NAME], b[PROBING_NAME];

    CHECK(strncmp(probing_name(".part", a), PROBING_FILE, strlen(PROBING_FILE)) == 0);
    CHECK(strcmp(a + strlen(a) - 5, ".part") == 0);
    CHECK(strcmp(a, probing_name(".part", b)) != 0);
}

int main(void)
{
    return test_main();
}
