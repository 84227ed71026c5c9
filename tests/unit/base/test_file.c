#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "again.h"
#include "base/auto.h"
#include "base/file.h"
#include "folder.h"

static bool is_file(int dirfd, const char *name, struct str want, mode_t mode)
{
    AUTO(buf_done) struct buf got = BUF_INIT(1 << 20);
    struct err err = { 0 };
    struct stat st;

    return file_read_whole(dirfd, name, &got, &err) && str_eq(buf_view(&got), want) &&
           fstatat(dirfd, name, &st, 0) == 0 && (st.st_mode & 07777) == mode;
}

static bool is_gone(int dirfd, const char *name)
{
    return faccessat(dirfd, name, F_OK, 0) < 0 && errno == ENOENT;
}

static bool make(int dirfd, const char *name, const char *text)
{
    AUTO_FD fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    struct err err = { 0 };

    return fd >= 0 && file_write_all(fd, str_of(text), &err);
}

TEST(file_rename_new_never_replaces)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct err err = { 0 };

    CHECK(make(f.fd, "a", "one") && make(f.fd, "b", "two"));
    CHECK(!file_rename_new(f.fd, "a", f.fd, "b", &err) && err.sys == EEXIST);
    CHECK(is_file(f.fd, "a", STR("one"), 0600) && is_file(f.fd, "b", STR("two"), 0600));
    err = (struct err){ 0 };
    CHECK(file_rename_new(f.fd, "a", f.fd, "c", &err));
    CHECK(is_gone(f.fd, "a") && is_file(f.fd, "c", STR("one"), 0600));
    CHECK(!file_rename_new(f.fd, "a", f.fd, "d", &err) && err.sys == ENOENT);
}

TEST(file_try_sync_returns_what_fails)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct err err = { 0 };
    uint64_t before = file_syncs();

    CHECK(file_try_sync(f.fd, "folder", &err) && file_syncs() == before + 1);
    CHECK(!file_try_sync(-1, "nothing", &err) && err.kind == ERR_UNCERTAIN && err.sys == EBADF);
}

/* proves: FI11 FI14 */
TEST(file_open_beneath_stays_below)
{
    AUTO(folder_done) struct folder f = folder_make();
    static const char *const out[] = { "../x", "/etc/passwd", "link", "way/x", "sub/../../x" };

    CHECK(mkdirat(f.fd, "sub", 0700) == 0 && make(f.fd, "sub/x", "in"));
    CHECK(symlinkat("sub/x", f.fd, "link") == 0 && symlinkat("sub", f.fd, "way") == 0);
    AUTO_FD in = file_open_beneath(f.fd, "sub/x", O_RDONLY, 0);
    AUTO_FD made = file_open_beneath(f.fd, "sub/new", O_WRONLY | O_CREAT | O_EXCL, 0600);

    CHECK(in >= 0 && made >= 0 && (fcntl(in, F_GETFD) & FD_CLOEXEC) != 0);
    for (size_t i = 0; i < sizeof out / sizeof out[0]; i++) {
        AUTO_FD fd = file_open_beneath(f.fd, out[i], O_RDONLY, 0);

        CHECK(fd < 0 && (errno == EXDEV || errno == ELOOP));
    }
    CHECK(file_open_beneath(f.fd, "none", O_RDONLY, 0) < 0 && errno == ENOENT);
}

TEST(publish_file_replaces_only_when_told)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct err err = { 0 };
    uint64_t before = file_syncs();

    CHECK(make(f.fd, "temp", "new") && publish_file(f.fd, "temp", "name", false, &err));
    CHECK(is_file(f.fd, "name", STR("new"), 0600) && is_gone(f.fd, "temp"));
    CHECK(file_syncs() == before + 1); /* the folder */
    CHECK(make(f.fd, "temp", "newer"));
    CHECK(!publish_file(f.fd, "temp", "name", false, &err) && err.sys == EEXIST);
    CHECK(is_file(f.fd, "name", STR("new"), 0600) && is_file(f.fd, "temp", STR("newer"), 0600));
    CHECK(publish_file(f.fd, "temp", "name", true, &err));
    CHECK(is_file(f.fd, "name", STR("newer"), 0600) && is_gone(f.fd, "temp"));
    CHECK(!publish_file(f.fd, "temp", "name", true, &err) && err.sys == ENOENT);
    CHECK(is_file(f.fd, "name", STR("newer"), 0600));
}

TEST(publish_bytes_has_content_and_mode)
{
    static const mode_t modes[] = { 0600, 0644, 0666, 0400 };
    AUTO(folder_done) struct folder f = folder_make();
    struct err err = { 0 };
    mode_t mask = umask(027);

    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        uint64_t before = file_syncs();
        char text[32];

        (void)snprintf(text, sizeof text, "content %zu", i);
        CHECK(publish_bytes(f.fd, "name", str_of(text), modes[i], &err)); /* and replaces */
        CHECK(is_file(f.fd, "name", str_of(text), modes[i]));
        CHECK(file_syncs() == before + 2); /* the file, the folder */
        CHECK(is_gone(f.fd, ".name.tmp"));
    }
    CHECK(publish_bytes(f.fd, "empty", STR(""), 0600, &err));
    CHECK(is_file(f.fd, "empty", STR(""), 0600));
    (void)umask(mask);
}

/* What a crash left behind must not lend its mode, nor be followed. */
TEST(publish_bytes_begins_anew)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct err err = { 0 };

    CHECK(make(f.fd, ".secret.tmp", "old and longer") && make(f.fd, "victim", "mine"));
    CHECK(fchmodat(f.fd, ".secret.tmp", 0666, 0) == 0);
    CHECK(publish_bytes(f.fd, "secret", STR("new"), 0600, &err));
    CHECK(is_file(f.fd, "secret", STR("new"), 0600));
    CHECK(symlinkat("victim", f.fd, ".secret.tmp") == 0);
    CHECK(publish_bytes(f.fd, "secret", STR("newer"), 0600, &err));
    CHECK(is_file(f.fd, "secret", STR("newer"), 0600) &&
          is_file(f.fd, "victim", STR("mine"), 0600));
}

static struct rlimit limit_file_size(rlim_t n)
{
    struct rlimit was, now;

    (void)signal(SIGXFSZ, SIG_IGN);
    (void)getrlimit(RLIMIT_FSIZE, &was);
    now = was;
    now.rlim_cur = n;
    (void)setrlimit(RLIMIT_FSIZE, &now);
    return was;
}

TEST(publish_bytes_that_fails_leaves_what_was)
{
    static char large[8192];
    AUTO(folder_done) struct folder f = folder_make();
    struct err err = { 0 };
    char name[300];

    CHECK(publish_bytes(f.fd, "name", STR("old"), 0600, &err));
    struct rlimit was = limit_file_size(4096);
    bool ok = publish_bytes(f.fd, "name", str_mem(large, sizeof large), 0600, &err);

    (void)setrlimit(RLIMIT_FSIZE, &was);
    CHECK(!ok && err.kind == ERR_LIMIT && err.sys == EFBIG);
    CHECK(is_file(f.fd, "name", STR("old"), 0600) && is_gone(f.fd, ".name.tmp"));
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK(!publish_bytes(f.fd, name, STR("x"), 0600, &err) && err.kind == ERR_LIMIT);
    CHECK(!publish_bytes(-1, "name", STR("x"), 0600, &err) && err.sys == EBADF);
    CHECK(mkdirat(f.fd, "folder", 0700) == 0);
    CHECK(!publish_bytes(f.fd, "folder", STR("x"), 0600, &err) && err.sys == EISDIR);
    CHECK(is_gone(f.fd, ".folder.tmp"));
}

TEST(file_read_whole_meets_the_cap)
{
    static const struct {
        size_t size, cap;
        bool ok;
    } cases[] = {
        { 0, 0, true },           { 0, 10, true },          { 10, 10, true },
        { 11, 10, false },        { 16384, 1 << 20, true }, { 16385, 1 << 20, true },
        { 100000, 99999, false },
    };
    static char bytes[100000];
    AUTO(folder_done) struct folder f = folder_make();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf got = BUF_INIT(cases[i].cap);
        struct err err = { 0 };

        memset(bytes, 'a' + (int)i, cases[i].size);
        CHECK(publish_bytes(f.fd, "f", str_mem(bytes, cases[i].size), 0600, &err));
        CHECK(file_read_whole(f.fd, "f", &got, &err) == cases[i].ok);
        CHECK(err.kind == (cases[i].ok ? ERR_NONE : ERR_LIMIT));
        CHECK(!cases[i].ok || str_eq(buf_view(&got), str_mem(bytes, cases[i].size)));
    }
    AUTO(buf_done) struct buf got = BUF_INIT(10);
    struct err err = { 0 };

    CHECK(!file_read_whole(f.fd, "none", &got, &err) && err.kind == ERR_PERMANENT &&
          err.sys == ENOENT);
    CHECK(!file_read_whole(f.fd, ".", &got, &err) && err.sys == EISDIR);
}

TEST(file_write_at_and_read_at)
{
    AUTO(folder_done) struct folder f = folder_make();
    AUTO_FD fd = openat(f.fd, "f", O_RDWR | O_CREAT, 0600);
    AUTO_FD readonly = openat(f.fd, "f", O_RDONLY);
    struct err err = { 0 };
    char got[8] = "";

    CHECK(file_write_at(fd, STR("world"), 6, &err) && file_write_at(fd, STR("hello "), 0, &err));
    CHECK(file_write_at(fd, STR(""), 100, &err)); /* nothing, nowhere */
    CHECK(is_file(f.fd, "f", STR("hello world"), 0600));
    CHECK(file_read_at(fd, got, 5, 6, &err) && memcmp(got, "world", 5) == 0);
    CHECK(file_read_at(fd, got, 0, 1000, &err));
    CHECK(!file_read_at(fd, got, 6, 6, &err) && err.kind == ERR_PERMANENT); /* one byte short */
    CHECK(strstr(err.text, "1 bytes early") != NULL);
    CHECK(!file_read_at(fd, got, 1, 1000, &err) && err.kind == ERR_PERMANENT);
    CHECK(!file_read_at(-1, got, 1, 0, &err) && err.kind == ERR_TRANSIENT && err.sys == EBADF);
    CHECK(!file_write_at(readonly, STR("x"), 0, &err) && err.sys == EBADF);
    CHECK(!file_write_all(readonly, STR("x"), &err) && err.sys == EBADF);
    AUTO_FD full = open("/dev/full", O_WRONLY);

    CHECK(!file_write_all(full, STR("x"), &err) && err.kind == ERR_LIMIT && err.sys == ENOSPC);
}

TEST(file_write_that_comes_half_is_finished_or_refused)
{
    static char large[10000];
    AUTO(folder_done) struct folder f = folder_make();
    AUTO_FD fd = openat(f.fd, "f", O_RDWR | O_CREAT, 0600);
    struct err err = { 0 };
    struct rlimit was = limit_file_size(4096);
    bool ok = file_write_at(fd, str_mem(large, sizeof large), 0, &err);

    (void)setrlimit(RLIMIT_FSIZE, &was);
    CHECK(!ok && err.kind == ERR_LIMIT);
    CHECK(file_write_at(fd, str_mem(large, sizeof large), 0, &err));
    CHECK(is_file(f.fd, "f", str_mem(large, sizeof large), 0600));
}

TEST(file_make_dir_is_durable_and_repeatable)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct err err = { 0 };
    struct stat st;

    for (int i = 0; i < 2; i++) {
        uint64_t before = file_syncs();

        CHECK(file_make_dir(f.fd, "d", &err));
        CHECK(fstatat(f.fd, "d", &st, 0) == 0 && S_ISDIR(st.st_mode));
        CHECK((st.st_mode & 07777) == 0700);
        CHECK(file_syncs() == before + 1); /* who made it may have died before the sync */
    }
    CHECK(!file_make_dir(f.fd, "d/none/x", &err) && err.sys == ENOENT);
    CHECK(make(f.fd, "file", "x"));
    CHECK(!file_make_dir(f.fd, "file", &err) && err.sys == ENOTDIR);
}

TEST(file_err_kind_tells_a_full_disk)
{
    CHECK(file_err_kind(ENOSPC) == ERR_LIMIT && file_err_kind(EDQUOT) == ERR_LIMIT &&
          file_err_kind(EFBIG) == ERR_LIMIT);
    CHECK(file_err_kind(EIO) == ERR_TRANSIENT && file_err_kind(EACCES) == ERR_TRANSIENT);
}

TEST(file_free_bytes_says_something)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct err err = { 0 };
    int64_t n = -1;

    CHECK(file_free_bytes(f.fd, &n, &err) && n >= 0);
    CHECK(!file_free_bytes(-1, &n, &err) && err.sys == EBADF);
}

TEST(file_sync_that_fails_ends_the_process)
{
    AUTO(folder_done) struct folder f = folder_make();
    uint64_t before = file_syncs();

    file_sync(f.fd, "a folder"); /* fine */
    file_count_sync();
    CHECK(file_syncs() == before + 2);
    CHECK(again("sync", NULL, f.path).status == 74);
    CHECK(again("sync_dir", NULL, f.path).status == 74);
    CHECK(again("fatal", NULL, f.path).status == 74);
}

/* The children; a pipe cannot be synced. */
static int play(const char *scene)
{
    int fd[2];

    if (freopen("/dev/null", "w", stderr) == NULL || pipe(fd) < 0)
        return 1;
    if (strcmp(scene, "sync") == 0)
        file_sync(fd[1], "a pipe");
    if (strcmp(scene, "sync_dir") == 0)
        file_sync_dir(fd[1], "a pipe");
    if (strcmp(scene, "fatal") == 0)
        file_fatal("a disk", EIO);
    return 0;
}

int main(int argc, char **argv)
{
    const char *scene = again_scene(argc, argv);

    if (scene != NULL)
        _exit(play(scene));
    return test_main();
}
