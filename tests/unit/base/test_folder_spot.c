#include "test.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/folder_spot.h"
#include "base/require.h"
#include "folder.h"

static const char *under(const struct folder *f, const char *name)
{
    static char paths[8][600];
    static size_t next;
    char *path = paths[next++ % 8];

    (void)snprintf(path, sizeof paths[0], "%s/%s", f->path, name);
    return path;
}

static void make_tree(const struct folder *f)
{
    CHECK(mkdirat(f->fd, "data", 0700) == 0 && mkdirat(f->fd, "data/deep", 0700) == 0);
    CHECK(mkdirat(f->fd, "other", 0700) == 0);
    CHECK(symlinkat("data", f->fd, "link") == 0);
    CHECK(symlinkat("../data/deep", f->fd, "other/in") == 0);
    CHECK(close(openat(f->fd, "file", O_CREAT | O_WRONLY, 0600)) == 0);
}

static bool is_in(const char *inner, const char *outer)
{
    struct folder_spot a, b;
    struct err err = { 0 };

    require(folder_spot_find(inner, &a, &err) && folder_spot_find(outer, &b, &err));
    return folder_spot_is_in(&a, &b);
}

TEST(folder_spot_sees_through_every_spelling)
{
    AUTO(folder_done) struct folder f = folder_make();
    static const struct {
        const char *inner, *outer;
        bool want;
    } cases[] = {
        { "data", "data", true },
        { "data/deep", "data", true },
        { "data", "data/deep", false },
        { "other", "data", false },
        { "link", "data", true }, /* a symbolic link to it */
        { "data", "link", true },
        { "link/deep", "data", true },
        { "other/in", "data", true }, /* a link into it */
        { "other/../data//./deep", "data", true },
        { "data/not/yet", "data", true }, /* what does not exist */
        { "other/in/not/yet", "data", true },
        { "not/yet", "data", false },
        { "not/yet", "not", true },
        { "not/yet/", "not/yet", true },
        { "not", "not/yet", false },
        { "nothing", "not", false },
        { "not/./yet", "not//yet", true },
        { "data", "not", false },
        { "data/deep", ".", true },
        { "not/yet", ".", true },
        { ".", "not/yet", false },
    };

    make_tree(&f);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool got = is_in(under(&f, cases[i].inner), under(&f, cases[i].outer));

        if (got != cases[i].want)
            (void)printf("# %s in %s: %d\n", cases[i].inner, cases[i].outer, got);
        CHECK(got == cases[i].want);
    }
    CHECK(is_in(f.path, "/") && is_in("/", "/") && !is_in("/", f.path));
}

TEST(folder_spot_starts_where_the_process_is)
{
    AUTO(folder_done) struct folder f = folder_make();
    char before[600];

    make_tree(&f);
    CHECK(getcwd(before, sizeof before) != NULL && chdir(f.path) == 0);
    CHECK(is_in("data/deep", "data") && is_in("data", ".") && is_in("new", "."));
    CHECK(is_in("./new/er", "new") && is_in("new", f.path));
    CHECK(chdir(before) == 0);
}

TEST(folder_spot_says_what_is_wrong)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct folder_spot s;
    struct err err = { 0 };

    make_tree(&f);
    CHECK(!folder_spot_find(under(&f, "file"), &s, &err) && err.kind == ERR_CONFIG);
    CHECK(!folder_spot_find(under(&f, "file/below"), &s, &err) && err.kind == ERR_CONFIG);
    CHECK(!folder_spot_find(under(&f, "not/../data"), &s, &err) && err.kind == ERR_CONFIG);
    CHECK(!folder_spot_find("", &s, &err) && err.kind == ERR_CONFIG);
    CHECK(symlinkat("loop", f.fd, "loop") == 0);
    CHECK(!folder_spot_find(under(&f, "loop"), &s, &err) && err.kind == ERR_CONFIG);
    CHECK(folder_spot_find(under(&f, "data/new"), &s, &err));
    CHECK(strcmp(s.missing, "new") == 0 && strstr(s.path, "/data/new") != NULL);
}

/* Follows the folder that is open, whatever its path leads to by then. */
TEST(folder_spot_of_an_open_folder)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct folder_spot moved, data, below;
    struct err err = { 0 };

    make_tree(&f);
    AUTO_FD fd = openat(f.fd, "other", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    CHECK(fd >= 0 && renameat(f.fd, "other", f.fd, "data/other") == 0);
    CHECK(folder_spot_find(under(&f, "data"), &data, &err) && folder_spot_of(fd, &moved, &err));
    CHECK(folder_spot_is_in(&moved, &data) && !folder_spot_is_in(&data, &moved));
    CHECK(folder_spot_below(fd, ".work", &below, &err) && strcmp(below.missing, ".work") == 0);
    CHECK(folder_spot_is_in(&below, &moved) && folder_spot_is_in(&below, &data));
}

/* Needs mounts of its own: as root, or where users may make namespaces.  test_mounts.c has the
 * same for tables that are written down. */
static int with_bind_mounts(const struct folder *f)
{
    struct folder_spot data, shown, holder, whole;
    struct err err = { 0 };

    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return 77;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(under(f, "data/deep"), under(f, "other/shown"), NULL, MS_BIND, NULL) < 0)
        return 77;
    if (!folder_spot_find(under(f, "data"), &data, &err) ||
        !folder_spot_find(under(f, "other/shown/new"), &shown, &err) ||
        !folder_spot_find(under(f, "other"), &holder, &err) ||
        !folder_spot_find(f->path, &whole, &err))
        return 1;
    /* What is shown lies in data as well; its other folder contains a part of data. */
    return folder_spot_is_in(&shown, &data) && folder_spot_is_in(&shown, &holder) &&
                   !folder_spot_was_in(&shown, &data) && folder_spot_is_in(&data, &holder) &&
                   !folder_spot_was_in(&data, &holder) && folder_spot_is_in(&data, &whole)
               ? 0
               : 2;
}

TEST(folder_spot_sees_bind_mounts)
{
    AUTO(folder_done) struct folder f = folder_make();
    int status = 0;

    make_tree(&f);
    CHECK(mkdirat(f.fd, "other/shown", 0700) == 0);
    (void)fflush(NULL);
    pid_t child = fork();

    if (child == 0)
        _exit(with_bind_mounts(&f));
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        (void)printf("# skipped: this machine gives no mounts to a test\n");
    else
        CHECK(WEXITSTATUS(status) == 0);
}

int main(void)
{
    return test_main();
}
