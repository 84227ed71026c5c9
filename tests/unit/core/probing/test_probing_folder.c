/* test_probing_folder.c - a folder of this machine, and that nothing is left in it. */
#include "core/probing/probing_folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/known_folder.h"
#include "test.h"

static size_t entries(const char *path)
{
    DIR *d = opendir(path);
    size_t n = 0;

    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    (void)closedir(d);
    return n;
}

/* The lines of a probe of the path. */
static size_t look(const char *path, bool writes, struct probing_line *ret)
{
    struct known_folder f;
    struct probing p;
    const char *at;

    known_folder_init(&f, path, "path", NULL, NULL);
    probing_init(&p, 0);
    (void)probing_folder(&f, writes, &p);
    size_t n = probing_read(&p, ret, &at);

    probing_done(&p);
    return n;
}

TEST(a_folder_that_can_be_used_stays_as_it_is)
{
    struct probing_line lines[PROBING_LINES];
    char path[] = "/tmp/test_probing_XXXXXX";

    CHECK(mkdtemp(path) != NULL);
    for (int writes = 0; writes < 2; writes++) {
        CHECK(look(path, writes != 0, lines) == 2);
        CHECK(lines[0].result == PROBING_PASSED && strcmp(lines[0].step, "folder") == 0);
        CHECK(lines[1].result == PROBING_PASSED && strcmp(lines[1].step, "rights") == 0);
        CHECK(entries(path) == 0);
    }
    CHECK(rmdir(path) == 0);
}

/* One that nobody has met yet is made by its first file, not by a probe. */
TEST(a_missing_folder_is_not_made)
{
    struct probing_line lines[PROBING_LINES];
    char path[] = "/tmp/test_probing_XXXXXX", below[64], deeper[80];

    CHECK(mkdtemp(path) != NULL);
    (void)snprintf(below, sizeof below, "%s/below", path);
    (void)snprintf(deeper, sizeof deeper, "%s/deeper", below);
    CHECK(look(below, true, lines) == 1 && lines[0].result == PROBING_LEFT_OUT);
    CHECK(look(deeper, true, lines) == 1 && lines[0].result == PROBING_FAILED);
    CHECK(strstr(lines[0].remedy, "create the folder") != NULL);
    CHECK(entries(path) == 0);
    CHECK(rmdir(path) == 0);
}

TEST(a_file_in_its_place_is_told)
{
    struct probing_line lines[PROBING_LINES];
    char path[] = "/tmp/test_probing_XXXXXX";
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    CHECK(look(path, true, lines) == 1 && lines[0].result == PROBING_FAILED);
    CHECK(strstr(lines[0].remedy, "a file is in its place") != NULL);
    (void)close(fd);
    (void)unlink(path);
}

int main(void)
{
    return test_main();
}
