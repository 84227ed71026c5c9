/* watcher.c - looks at a folder all the time, and writes down every file that can be seen there.
 *
 * Whatever appears, in the folder or one folder below, is read at once, so that a file that is not
 * whole is caught in the act.  Names that begin with a dot are nobody's business.
 *
 * Usage: watcher --log FILE FOLDER        prints "ready" when it has read all that is there
 * Commands on stdin, one per line: "scan" reads all files once more and answers "ok".  The end of
 * stdin ends it.
 *
 * Format of the log (text, one line per event)
 *   F PATH KEY SHA256 SIZE TIME     a file can be seen; KEY is the first field of its JSON, or -
 *   M PATH - - 0 TIME               a file that could be seen was written to
 *   D PATH - - 0 TIME               it is gone
 *   B / - - 0 TIME                  a scan begins: all files that are there follow
 *   Z / - - 0 TIME                  and it is over
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire.h"

enum { FOLDERS_MAX = 64, NAME_BYTES = 300, PIECE = 64 << 10 };

#define EVENTS (IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_DELETE | IN_MOVED_FROM)

struct folder {
    int watch;
    char path[NAME_BYTES]; /* below the root; "." is the root */
};

static int log_fd, notify_fd;
static const char *root;
static struct folder folders[FOLDERS_MAX];
static size_t folder_count;

static void say(const char *event, const char *path)
{
    wire_journal(log_fd, "%s %s - - 0 %lld\n", event, path, (long long)wire_now_ns());
}

static void copy_key(const char *bytes, size_t len, char ret[64])
{
    static const char before[] = "{\"key\":\"";
    size_t n = sizeof before - 1;

    (void)snprintf(ret, 64, "-");
    if (len <= n || memcmp(bytes, before, n) != 0)
        return;
    const char *end = memchr(bytes + n, '"', len - n);
    if (end != NULL && end - bytes - (ptrdiff_t)n < 64)
        (void)snprintf(ret, 64, "%.*s", (int)(end - bytes - (ptrdiff_t)n), bytes + n);
}

/* A file that is gone again, or cannot be read because the disk went away, is nothing to tell. */
static void look_at_file(const char *path)
{
    static char piece[PIECE];
    unsigned char sum[EVP_MAX_MD_SIZE];
    char whole[PATH_MAX], key[64] = "-", hex[65];
    unsigned int len = 0;
    size_t size = 0;
    ssize_t n;

    (void)snprintf(whole, sizeof whole, "%s/%s", root, path);
    int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    if (digest == NULL || EVP_DigestInit_ex(digest, EVP_sha256(), NULL) != 1)
        abort();
    while ((n = read(fd, piece, sizeof piece)) > 0) {
        if (size == 0)
            copy_key(piece, (size_t)n, key);
        if (EVP_DigestUpdate(digest, piece, (size_t)n) != 1)
            abort();
        size += (size_t)n;
    }
    (void)close(fd);
    if (EVP_DigestFinal_ex(digest, sum, &len) != 1 || len != 32)
        abort();
    EVP_MD_CTX_free(digest);
    for (unsigned int i = 0; i < len; i++)
        (void)snprintf(hex + (size_t)2 * i, 3, "%02x", sum[i]);
    if (n == 0)
        wire_journal(log_fd, "F %s %s %s %zu %lld\n", path, key, hex, size,
                     (long long)wire_now_ns());
}

static void folder_add(const char *path);

static void join(const char *folder, const char *name, char ret[NAME_BYTES])
{
    int n = strcmp(folder, ".") == 0 ? snprintf(ret, NAME_BYTES, "%s", name)
                                     : snprintf(ret, NAME_BYTES, "%s/%s", folder, name);

    if (n >= NAME_BYTES)
        abort();
}

static void folder_scan(const char *path)
{
    char whole[PATH_MAX], below[NAME_BYTES];
    struct stat st;

    (void)snprintf(whole, sizeof whole, "%s/%s", root, path);
    DIR *dir = opendir(whole);
    if (dir == NULL)
        return;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        join(path, e->d_name, below);
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISDIR(st.st_mode))
            folder_add(below);
        else
            look_at_file(below);
    }
    (void)closedir(dir);
}

/* Watched first, read then: what appears in between is seen twice. */
static void folder_add(const char *path)
{
    char whole[PATH_MAX];
    size_t i = 0;

    while (i < folder_count && strcmp(folders[i].path, path) != 0)
        i++;
    if (i == FOLDERS_MAX)
        abort();
    (void)snprintf(whole, sizeof whole, "%s/%s", root, path);
    folders[i].watch = inotify_add_watch(notify_fd, whole, EVENTS);
    if (folders[i].watch < 0)
        return;
    if (i == folder_count) {
        (void)snprintf(folders[i].path, NAME_BYTES, "%s", path);
        folder_count++;
    }
    folder_scan(path);
}

static void scan(void)
{
    say("B", "/");
    folder_add(".");
    say("Z", "/");
}

static void event_take(const struct inotify_event *e)
{
    char path[NAME_BYTES];
    const struct folder *f = folders;

    if (e->mask & IN_Q_OVERFLOW) {
        scan();
        return;
    }
    while (f < folders + folder_count && f->watch != e->wd)
        f++;
    if (f == folders + folder_count || e->len == 0 || e->name[0] == '.')
        return;
    join(f->path, e->name, path);
    if ((e->mask & IN_ISDIR) && (e->mask & (IN_CREATE | IN_MOVED_TO)))
        folder_add(path);
    else if (e->mask & (IN_CREATE | IN_MOVED_TO))
        look_at_file(path);
    else if (e->mask & IN_MODIFY)
        say("M", path);
    else if (e->mask & (IN_DELETE | IN_MOVED_FROM))
        say("D", path);
}

static void read_events(void)
{
    static _Alignas(struct inotify_event) char buf[64 << 10];
    ssize_t n = read(notify_fd, buf, sizeof buf);

    for (const char *at = buf; n > 0 && at < buf + n;) {
        const struct inotify_event *e = (const void *)at;
        event_take(e);
        at += sizeof *e + e->len;
    }
}

static void read_command(void)
{
    char line[64];
    ssize_t n = read(STDIN_FILENO, line, sizeof line - 1);

    if (n <= 0)
        exit(0);
    scan();
    (void)puts("ok");
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    struct pollfd wait[2];

    if (argc != 4 || strcmp(argv[1], "--log") != 0) {
        (void)fprintf(stderr, "usage: watcher --log FILE FOLDER\n");
        return 2;
    }
    log_fd = wire_journal_open(argv[2]);
    root = argv[3];
    notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (notify_fd < 0) {
        perror("inotify");
        return 1;
    }
    scan();
    (void)puts("ready");
    (void)fflush(stdout);
    wait[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
    wait[1] = (struct pollfd){ .fd = notify_fd, .events = POLLIN };
    for (;;) {
        if (poll(wait, 2, -1) < 0 && errno != EINTR)
            return 1;
        if (wait[1].revents != 0)
            read_events();
        else if (wait[0].revents != 0)
            read_command();
    }
}
