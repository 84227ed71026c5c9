/* test_confine.c - each limit, tried by a child: there is no way back from them. */
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <arpa/inet.h>

#include "base/auto.h"
#include "folder.h"
#include "test.h"

static struct folder place;

/* Runs in a child; 2 if it returned the line of a check that failed. */
static int in_child(int (*f)(void))
{
    int status;

    (void)fflush(stdout);
    pid_t child = fork();

    if (child == 0) {
        int line = f();

        if (line > 1)
            (void)fprintf(stderr, "# failed in line %d\n", line);
        _exit(line > 1 ? 2 : line);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : 255;
}

#define TRY(cond)            \
    do {                     \
        if (!(cond))         \
            return __LINE__; \
    } while (0)

static int process_is_closed(void)
{
    struct rlimit core;
    struct err err;

    TRY(confine_process(&err));
    TRY(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
    TRY(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    TRY(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0);
    return 0;
}

TEST(nobody_looks_into_the_process)
{
    CHECK(in_child(process_is_closed) == 0);
}

/* ---- files ---- */

static bool can_write(const char *name)
{
    AUTO_FD fd = openat(place.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    return fd >= 0;
}

static bool can_read(const char *name)
{
    AUTO_FD fd = openat(place.fd, name, O_RDONLY | O_CLOEXEC);

    return fd >= 0;
}

static int bind_to(int port)
{
    AUTO_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    return bind(fd, (struct sockaddr *)&a, sizeof a) == 0 ? 0 : errno;
}

static struct confine_ports ports = { (const uint16_t[]){ 0 }, 1, false };

/* A port that nobody listens on now. */
static int a_free_port(void)
{
    AUTO_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof a;

    return bind(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
                   getsockname(fd, (struct sockaddr *)&a, &len) == 0
               ? ntohs(a.sin_port)
               : 0;
}

/* True: this kernel has Landlock, and the rules are in force. */
static bool rules_hold(struct confine_files_report *report)
{
    char data[300], look[300], one[300], gone[300];
    const struct confine_rule rules[] = {
        { data, CONFINE_WRITE },
        { look, CONFINE_READ },
        { one, CONFINE_READ },
        { gone, CONFINE_WRITE },
    };
    struct err err;

    (void)snprintf(data, sizeof data, "%s/data", place.path);
    (void)snprintf(look, sizeof look, "%s/look", place.path);
    (void)snprintf(one, sizeof one, "%s/one", place.path);
    (void)snprintf(gone, sizeof gone, "%s/gone", place.path);
    return confine_files(rules, 4, &ports, report, &err);
}

static int files_are_listed(void)
{
    struct confine_files_report report;

    TRY(rules_hold(&report) && report.skipped == 1);
    TRY(can_write("data/new") && can_read("data/new") && can_write("data/below/new"));
    TRY(renameat(place.fd, "data/new", place.fd, "data/below/moved") == 0);
    TRY(mkdirat(place.fd, "data/made", 0700) == 0 &&
        unlinkat(place.fd, "data/made", AT_REMOVEDIR) == 0);
    TRY(can_read("look/file") && !can_write("look/file") && errno == EACCES);
    TRY(!can_write("look/new") && errno == EACCES);
    TRY(can_read("one") && !can_write("one"));
    TRY(!can_read("other/file") && errno == EACCES && !can_write("other/new"));
    TRY(symlinkat("file", place.fd, "data/link") < 0 && errno == EACCES);
    TRY(mkfifoat(place.fd, "data/fifo", 0600) < 0 && errno == EACCES);
    return 0;
}

static int nothing_is_executed(void)
{
    const char *const argv[] = { "program", NULL };
    struct confine_files_report report;

    TRY(rules_hold(&report));
    int fd = openat(place.fd, "data/program", O_PATH | O_CLOEXEC);

    TRY(fd >= 0);
    TRY(syscall(SYS_execveat, fd, "", argv, argv + 1, AT_EMPTY_PATH) < 0 && errno == EACCES);
    return 0;
}

static int what_may_run_runs(void)
{
    const char *const argv[] = { "program", NULL };
    const struct confine_rule rules[] = { { place.path, CONFINE_RUN } };
    struct confine_files_report report;
    struct err err;

    int fd = openat(place.fd, "data/program", O_PATH | O_CLOEXEC);

    TRY(fd >= 0 && confine_files(rules, 1, &ports, &report, &err));
    TRY(can_read("look/file") && !can_write("data/new"));
    /* It is empty: the kernel looks into it, and finds no program. */
    TRY(syscall(SYS_execveat, fd, "", argv, argv + 1, AT_EMPTY_PATH) < 0 && errno == ENOEXEC);
    return 0;
}

static int nothing_is_reached(void)
{
    TRY(confine_all() >= 1);
    TRY(!can_read("look/file") && errno == EACCES && !can_write("data/new"));
    TRY(open("/", O_RDONLY | O_DIRECTORY) < 0 && errno == EACCES);
    TRY(bind_to(0) == EACCES || confine_all() < 4);
    return 0;
}

static int one_port_is_bound(void)
{
    struct confine_files_report report;

    TRY(rules_hold(&report));
    TRY(bind_to(0) == 0);
    TRY(!report.ports || bind_to(1234) == EACCES);
    return 0;
}

static int listed_ports_are_bound(void)
{
    struct confine_files_report report;
    int port = a_free_port();

    ports = (struct confine_ports){ (const uint16_t[]){ 1, (uint16_t)port }, 2, false };
    TRY(rules_hold(&report));
    TRY(bind_to(port) == 0);
    TRY(!report.ports || bind_to(0) == EACCES);
    return 0;
}

static int all_ports_are_bound(void)
{
    struct confine_files_report report;
    int port = a_free_port();

    ports = (struct confine_ports){ .any = true };
    TRY(rules_hold(&report) && !report.ports);
    TRY(bind_to(0) == 0 && bind_to(port) == 0);
    return 0;
}

static void prepare(void)
{
    place = folder_make();
    (void)mkdirat(place.fd, "data", 0700);
    (void)mkdirat(place.fd, "data/below", 0700);
    (void)mkdirat(place.fd, "look", 0700);
    (void)mkdirat(place.fd, "other", 0700);
    (void)can_write("look/file");
    (void)can_write("other/file");
    (void)can_write("one");
    (void)can_write("data/program");
    (void)fchmodat(place.fd, "data/program", 0700, 0);
}

static int has_landlock(void)
{
    struct confine_files_report report;

    return rules_hold(&report);
}

/* Without Landlock an attempt is an ordinary error, and nothing is limited. */
static int lacking_is_said(void)
{
    struct confine_files_report report;

    TRY(!rules_hold(&report));
    TRY(can_read("other/file"));
    return 0;
}

/* proves: S9 */
TEST(files_are_reached_by_rules_alone)
{
    prepare();
    if (in_child(has_landlock) == 1) {
        CHECK(in_child(files_are_listed) == 0);
        CHECK(in_child(nothing_is_executed) == 0);
        CHECK(in_child(one_port_is_bound) == 0 && in_child(listed_ports_are_bound) == 0 &&
              in_child(all_ports_are_bound) == 0);
        CHECK(in_child(what_may_run_runs) == 0);
        CHECK(in_child(nothing_is_reached) == 0);
    } else {
        printf("# this kernel has no usable Landlock\n");
        CHECK(in_child(lacking_is_said) == 0);
    }
    folder_done(&place);
}

/* ---- calls ---- */

static void *confine_thread(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

static int calls_are_refused(void)
{
    const char *const argv[] = { "/bin/true", NULL };
    union { /* execv() does not change the texts */
        const char *const *words;
        char *const *execs;
    } as = { argv };
    pthread_t thread;
    struct err err;
    int ran = 0;

    TRY(confine_calls(&err));
    TRY(execv("/bin/true", as.execs) < 0 && errno == EPERM);
    TRY(unshare(CLONE_NEWUSER) < 0 && errno == EPERM);
    TRY(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL) < 0 && errno == EPERM);
    TRY(syscall(SYS_bpf, 0, NULL, 0) < 0 && errno == EPERM);
    TRY(syscall(SYS_keyctl, 0, 0) < 0 && errno == EPERM);
    TRY(pthread_create(&thread, NULL, confine_thread, &ran) == 0);
    TRY(pthread_join(thread, NULL) == 0 && ran == 1);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    TRY(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 && errno == EPERM);
#endif
    return 0;
}

static int a_keeper_executes(void)
{
    char program[] = "true";
    char *const argv[] = { program, NULL };
    struct err err;

    TRY(confine_calls_of_keeper(&err));
    TRY(unshare(CLONE_NEWUSER) < 0 && errno == EPERM);
    (void)execv("/bin/true", argv);
    return __LINE__;
}

static int has_seccomp(void)
{
    struct err err;

    return confine_calls(&err);
}

TEST(calls_of_intruders_are_refused)
{
    if (in_child(has_seccomp) == 1) {
        CHECK(in_child(calls_are_refused) == 0);
        CHECK(in_child(a_keeper_executes) == 0);
    } else {
        printf("# this kernel has no seccomp\n");
    }
}

int main(void)
{
    return test_main();
}
