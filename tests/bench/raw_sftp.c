/* raw_sftp.c - small files to and from an SFTP server, with libssh and nothing else: the reference.
 *
 *     raw_sftp out PORT USER FOLDER FILES CONNECTIONS
 *     raw_sftp in  PORT USER FOLDER FILES CONNECTIONS
 *
 * For each file the calls that a careful sender or poller makes.  Out: look at the temporary name
 * and at the name, create, write 4 KiB, fsync, close, look, rename.  In: list once, and then rename
 * into a work folder, open, fstat, read to the end, fstat, close, remove.  Each connection has a
 * thread and a share of the files; the clock starts when all of them have logged in.
 *
 * The password is in $SFTP_PASSWORD.  Prints one JSON object: files, seconds and processor time.
 */
#include <errno.h>
#include <fcntl.h>
#include <libssh/libssh.h>
#include <libssh/sftp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { FILE_BYTES = 4096, CONNECTIONS_MAX = 64, PATH_MAX_ = 512, NAME_ROOM = 128 };

static struct {
    bool out;
    unsigned port;
    const char *user, *password, *folder;
    long files, connections;
    char (*names)[NAME_ROOM]; /* of the files to take in */
    pthread_barrier_t begin;
    char bytes[FILE_BYTES];
} raw;

struct line {
    pthread_t thread;
    long number;
    ssh_session ssh;
    sftp_session sftp;
};

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *format, ...)
{
    va_list args;

    (void)fputs("raw_sftp: ", stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

static double now_s(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Any server: it is our own. */
static void line_open(struct line *l)
{
    int no = 0, yes = 1;

    l->ssh = ssh_new();
    if (l->ssh == NULL || ssh_options_set(l->ssh, SSH_OPTIONS_PROCESS_CONFIG, &no) < 0 ||
        ssh_options_set(l->ssh, SSH_OPTIONS_HOST, "127.0.0.1") < 0 ||
        ssh_options_set(l->ssh, SSH_OPTIONS_PORT, &raw.port) < 0 ||
        ssh_options_set(l->ssh, SSH_OPTIONS_USER, raw.user) < 0 ||
        ssh_options_set(l->ssh, SSH_OPTIONS_NODELAY, &yes) < 0)
        fail("libssh does not take the settings");
    if (ssh_connect(l->ssh) != SSH_OK ||
        ssh_userauth_password(l->ssh, NULL, raw.password) != SSH_AUTH_SUCCESS)
        fail("no login: %s", ssh_get_error(l->ssh));
    l->sftp = sftp_new(l->ssh);
    if (l->sftp == NULL || sftp_init(l->sftp) != SSH_OK)
        fail("no SFTP: %s", ssh_get_error(l->ssh));
}

static void line_close(struct line *l)
{
    sftp_free(l->sftp);
    ssh_disconnect(l->ssh);
    ssh_free(l->ssh);
}

/* The size of what is there; -1: nothing. */
static long look(struct line *l, const char *path)
{
    sftp_attributes a = sftp_lstat(l->sftp, path);
    long size = a != NULL ? (long)a->size : -1;

    if (a == NULL && sftp_get_error(l->sftp) != SSH_FX_NO_SUCH_FILE)
        fail("lstat %s: %s", path, ssh_get_error(l->ssh));
    sftp_attributes_free(a);
    return size;
}

static void put_file(struct line *l, long number)
{
    char path[PATH_MAX_], temp[PATH_MAX_];

    (void)snprintf(path, sizeof path, "%s/%ld.dat", raw.folder, number);
    (void)snprintf(temp, sizeof temp, "%s/.%ld.part", raw.folder, number);
    if (look(l, temp) != -1 || look(l, path) != -1)
        fail("%s is there already", path);
    sftp_file f = sftp_open(l->sftp, temp, O_WRONLY | O_CREAT, 0644);

    if (f == NULL || sftp_write(f, raw.bytes, FILE_BYTES) != FILE_BYTES || sftp_fsync(f) < 0 ||
        sftp_close(f) != SSH_OK)
        fail("write %s: %s", temp, ssh_get_error(l->ssh));
    if (look(l, temp) != FILE_BYTES || sftp_rename(l->sftp, temp, path) < 0)
        fail("rename %s: %s", temp, ssh_get_error(l->ssh));
}

static void check_size(struct line *l, sftp_file f)
{
    sftp_attributes a = sftp_fstat(f);

    if (a == NULL || a->size != FILE_BYTES)
        fail("fstat: %s", ssh_get_error(l->ssh));
    sftp_attributes_free(a);
}

static void get_file(struct line *l, const char *name)
{
    char path[PATH_MAX_], work[PATH_MAX_], bytes[2 * FILE_BYTES];

    (void)snprintf(path, sizeof path, "%s/%s", raw.folder, name);
    (void)snprintf(work, sizeof work, "%s/.work/%s", raw.folder, name);
    if (sftp_rename(l->sftp, path, work) < 0)
        fail("rename %s: %s", path, ssh_get_error(l->ssh));
    sftp_file f = sftp_open(l->sftp, work, O_RDONLY, 0);

    if (f == NULL)
        fail("open %s: %s", work, ssh_get_error(l->ssh));
    check_size(l, f);
    if (sftp_read(f, bytes, sizeof bytes) != FILE_BYTES || sftp_read(f, bytes, sizeof bytes) != 0)
        fail("read %s: %s", work, ssh_get_error(l->ssh));
    check_size(l, f);
    if (sftp_close(f) != SSH_OK || sftp_unlink(l->sftp, work) < 0)
        fail("remove %s: %s", work, ssh_get_error(l->ssh));
}

/* By the first connection, before the clock starts: a poller lists once for many files. */
static void list_files(struct line *l)
{
    char work[PATH_MAX_];
    sftp_dir dir = sftp_opendir(l->sftp, raw.folder);
    sftp_attributes a;
    long count = 0;

    (void)snprintf(work, sizeof work, "%s/.work", raw.folder);
    (void)sftp_mkdir(l->sftp, work, 0755);
    while (dir != NULL && count < raw.files && (a = sftp_readdir(l->sftp, dir)) != NULL) {
        if (a->name[0] != '.')
            (void)snprintf(raw.names[count++], NAME_ROOM, "%s", a->name);
        sftp_attributes_free(a);
    }
    if (dir == NULL || sftp_closedir(dir) != SSH_OK || count < raw.files)
        fail("%ld of %ld files are listed", count, raw.files);
}

static void *work(void *arg)
{
    struct line *l = arg;

    line_open(l);
    if (!raw.out && l->number == 0)
        list_files(l);
    (void)pthread_barrier_wait(&raw.begin); /* all stand; the clock starts ... */
    (void)pthread_barrier_wait(&raw.begin); /* ... here */
    for (long n = l->number; n < raw.files; n += raw.connections) {
        if (raw.out)
            put_file(l, n);
        else
            get_file(l, raw.names[n]);
    }
    (void)pthread_barrier_wait(&raw.begin); /* all are through: logging out is not measured */
    line_close(l);
    return NULL;
}

static void run_all(void)
{
    static struct line lines[CONNECTIONS_MAX];

    (void)pthread_barrier_init(&raw.begin, NULL, (unsigned)raw.connections + 1);
    for (long i = 0; i < raw.connections; i++) {
        lines[i].number = i;
        if (pthread_create(&lines[i].thread, NULL, work, &lines[i]) != 0)
            fail("no thread");
    }
    (void)pthread_barrier_wait(&raw.begin);
    double began = now_s(CLOCK_MONOTONIC), cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);

    (void)pthread_barrier_wait(&raw.begin);
    (void)pthread_barrier_wait(&raw.begin);
    (void)printf("{\"files\":%ld,\"seconds\":%.4f,\"cpu_seconds\":%.4f}\n", raw.files,
                 now_s(CLOCK_MONOTONIC) - began, now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    for (long i = 0; i < raw.connections; i++)
        (void)pthread_join(lines[i].thread, NULL);
}

static long number(const char *text, long most)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || n < 1 || n > most)
        fail("a number from 1 to %ld is wanted, not \"%s\"", most, text);
    return n;
}

int main(int argc, char **argv)
{
    raw.password = getenv("SFTP_PASSWORD");
    if (argc != 7 || raw.password == NULL ||
        (strcmp(argv[1], "out") != 0 && strcmp(argv[1], "in") != 0))
        fail("usage: raw_sftp out|in PORT USER FOLDER FILES CONNECTIONS, with $SFTP_PASSWORD");
    raw.out = strcmp(argv[1], "out") == 0;
    raw.port = (unsigned)number(argv[2], 65535);
    raw.user = argv[3];
    raw.folder = argv[4];
    raw.files = number(argv[5], 1000000);
    raw.connections = number(argv[6], CONNECTIONS_MAX);
    if (strlen(raw.folder) + NAME_ROOM > PATH_MAX_)
        fail("the folder is too long");
    raw.names = calloc((size_t)raw.files, sizeof *raw.names);
    if (raw.names == NULL)
        fail("no memory");
    memset(raw.bytes, 'x', sizeof raw.bytes);
    if (ssh_init() != SSH_OK)
        fail("libssh does not start");
    run_all();
    free(raw.names);
    return 0;
}
