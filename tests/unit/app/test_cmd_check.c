#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/cmd.h"
#include "test.h"

static char folder[] = "/tmp/waybill-check-XXXXXX";
static char output[65536];

/* Run it on a file with this text (NULL: no such file); its output is in `output`. */
static int run(const char *text, const char *flag)
{
    char file[96], out[96];
    char verb[] = "check", option[16] = "";

    (void)snprintf(file, sizeof file, "%s/config.yaml", folder);
    (void)snprintf(out, sizeof out, "%s/out", folder);
    (void)unlink(file);
    if (text != NULL) {
        FILE *f = fopen(file, "wb");

        (void)fputs(text, f);
        (void)fclose(f);
    }
    (void)snprintf(option, sizeof option, "%s", flag);
    char *argv[] = { verb, file, *flag != '\0' ? option : NULL, NULL };

    (void)fflush(stdout);
    int keep = dup(STDOUT_FILENO), to = open(out, O_RDWR | O_CREAT | O_TRUNC, 0600);

    (void)dup2(to, STDOUT_FILENO);
    int rc = verb_run(&cmd_check, *flag != '\0' ? 3 : 2, argv);

    (void)fflush(stdout);
    (void)dup2(keep, STDOUT_FILENO);
    ssize_t n = pread(to, output, sizeof output - 1, 0);

    output[n > 0 ? n : 0] = '\0';
    (void)close(keep);
    (void)close(to);
    return rc;
}

TEST(check_says_valid)
{
    CHECK(run("gateways: { a: { kind: http } }\n", "") == 0);
    CHECK(strstr(output, "/config.yaml: valid\n") != NULL);
}

TEST(check_shows_warnings_and_is_content)
{
    CHECK(run("stores: {}\n", "") == 0);
    CHECK(strstr(output, "config.yaml:1:1: warning: `stores` is not run") != NULL);
    CHECK(strstr(output, "config.yaml: valid\n") != NULL);
}

TEST(check_shows_every_problem_with_its_hint)
{
    CHECK(run("gatways: {}\nnode: { area: moon }\n", "") == 1);
    CHECK(strstr(output, "config.yaml:1:1: unknown key `gatways`\n    did you mean `gateways`?"));
    CHECK(strstr(output, "config.yaml:2:15: `area` cannot be `moon`"));
    CHECK(strstr(output, "config.yaml: 2 problems\n") != NULL);
    CHECK(run("gatways: {}\n", "") == 1 && strstr(output, ": 1 problem\n") != NULL);
}

TEST(check_prints_json)
{
    CHECK(run("gatways: {}\nstores: {}\n", "--json") == 1);
    CHECK(strstr(output, "\"line\":1,\"column\":1,\"severity\":\"error\",\"message\":\"unknown key "
                         "`gatways`\",\"hint\":\"did you mean") != NULL);
    CHECK(strstr(output, "\"line\":2,\"column\":1,\"severity\":\"warning\"") != NULL);
    CHECK(strstr(output, "\"hint\":null}\n") != NULL);
}

TEST(check_tells_how_many_are_left_out)
{
    char text[4096] = "";

    for (size_t i = 0, n = 0; i < 120; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "k%zu: x\n", i);
    CHECK(run(text, "") == 1);
    CHECK(strstr(output, "config.yaml: 120 problems, the first 100 shown\n") != NULL);
}

TEST(check_exit_codes)
{
    char verb[] = "check", help[] = "--help", wrong[] = "--wrong";
    char *none[] = { verb, NULL }, *bad[] = { verb, wrong, NULL }, *ask[] = { verb, help, NULL };

    CHECK(run(NULL, "") == 74);
    CHECK(verb_run(&cmd_check, 1, none) == 2 && verb_run(&cmd_check, 2, bad) == 2);
    CHECK(verb_run(&cmd_check, 2, ask) == 0);
}

int main(void)
{
    /* No token of a node is at hand: none is asked. */
    if (mkdtemp(folder) == NULL || chdir(folder) != 0 || unsetenv("WAYBILL_TOKEN") != 0 ||
        unsetenv("WAYBILL_DATA") != 0)
        return 1;
    int rc = test_main();
    char path[96];

    (void)snprintf(path, sizeof path, "%s/config.yaml", folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/out", folder);
    (void)unlink(path);
    (void)rmdir(folder);
    return rc;
}
