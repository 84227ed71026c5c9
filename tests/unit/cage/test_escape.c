/* test_escape.c - what a step tries in its cage, and what comes of it.
 *
 * The same attempts run as they are, on a kernel without Landlock, and as a user without any
 * capability where user namespaces are off, as in a container.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "again.h"
#include "base/confine.h"
#include "cage/cage.h"
#include "cage_fixture.h"
#include "nonsense.h"
#include "test.h"

/* Each is a call, and ends its process. */
static const char *const escapes[] = {
    "open",
    "create",
    "proc",
    "memory",
    "list",
    "stat",
    "link",
    "unlink",
    "socket",
    "unix",
    "pair",
    "fork",
    "exec",
    "kill_parent",
    "kill_all",
    "kill_other",
    "ptrace",
    "dup",
    "write_other",
    "read_other",
    "limit",
    "priority",
    "shared",
    "memfd",
    "thread",
    "setuid",
    "rename",
    "mount",
    "namespace",
    "exec_at",
    "send_descriptor",
    "take_descriptor",
    "uring",
    "program",
    "keys",
    "peek",
    "open_process",
    "dumpable",
    "timer",
    "wait",
};

enum { TIME_US = CLOCK_S };

/* Without a call that could be refused: time, memory, output. */
static const struct excess {
    const char *act;
    enum cage_result result;
    enum dead_code code;
    const char *message;
    int64_t time_us; /* 0: more than it needs on any machine */
} excesses[] = {
    { "loop", CAGE_FAILED, DEAD_BUDGET, "1000 ms", TIME_US },
    { "sleep", CAGE_FAILED, DEAD_BUDGET, "1000 ms", TIME_US },
    { "flood", CAGE_FAILED, DEAD_LIMIT, "1048576" },
    { "raw_flood", CAGE_FAILED, DEAD_LIMIT, "1048576" },
    { "abort", CAGE_DIED, DEAD_SERVICE_FAILED, "SIGABRT" },
    { "exit", CAGE_DIED, DEAD_SERVICE_FAILED, "status 7" },
#if !KEEPER_SANITIZED
    { "bomb", CAGE_FAILED, DEAD_BUDGET, "memory" },
    { "deep", CAGE_DIED, DEAD_SERVICE_FAILED, "stack" },
#endif
};

/* Sanitizers make some of these calls themselves, and write to stderr. */
static bool sanitizer_needs(const char *escape)
{
    return KEEPER_SANITIZED && strcmp(escape, "write_other") == 0;
}

/* One that is stopped so, between two that run. */
static bool one_is_stopped(struct cage *c, struct str document, const struct excess *end)
{
    FIXTURE_JOBS(j);

    fixture_add(j, STR("echo"));
    fixture_add(j, document);
    fixture_add(j, STR("echo"));
    for (size_t i = 0; i < 3; i++)
        cage_run(c, j->jobs + i, 1);
    bool stopped = fixture_is(j, 0, CAGE_DONE, "echo") &&
                   fixture_failed(j, 1, end->result, end->code, end->message) &&
                   fixture_is(j, 2, CAGE_DONE, "echo");

    if (!stopped)
        printf("# %.*s\n", STR_ARG(document));
    fixture_done(j);
    return stopped;
}

static bool calls_are_stopped(void)
{
    const struct excess end = { NULL, CAGE_DIED, DEAD_SERVICE_FAILED, "system call" };
    struct cage *c = fixture_cage(1, 60 * CLOCK_S);
    bool ok = true;

    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++)
        ok = (sanitizer_needs(escapes[i]) || one_is_stopped(c, str_of(escapes[i]), &end)) && ok;
    cage_free(c);
    return ok;
}

static bool nonsense_is_stopped(void)
{
    struct cage *c = fixture_cage(1, 60 * CLOCK_S);
    bool ok = true;

    for (size_t i = 0; i < NONSENSE; i++) {
        const struct excess end = { NULL, CAGE_DIED, DEAD_SERVICE_FAILED, nonsense[i].message };
        char text[NONSENSE_ROOM];

        ok = one_is_stopped(c, nonsense_document(&nonsense[i], text), &end) && ok;
    }
    cage_free(c);
    return ok;
}

/* What a child of ours has used with those that it waited for, in seconds; -1 if it cannot be
 * known. */
static double seconds_of(const char *pid)
{
    char path[300], line[1000] = "";
    unsigned long user, system, ended_user, ended_system;
    int parent;

    (void)snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *f = fopen(path, "re");

    if (f == NULL)
        return -1;
    size_t n = fread(line, 1, sizeof line - 1, f);
    const char *rest = n > 0 ? strrchr(line, ')') : NULL;

    (void)fclose(f);
    if (rest == NULL ||
        sscanf(rest, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &parent, &user,
               &system, &ended_user, &ended_system) != 5 ||
        parent != getpid())
        return -1;
    return (double)(user + system + ended_user + ended_system) / (double)sysconf(_SC_CLK_TCK);
}

/* All processes of cages that have ended, by the account of their keeper. */
static double cage_seconds(void)
{
    DIR *proc = opendir("/proc");
    double most = 0;

    for (struct dirent *e; proc != NULL && (e = readdir(proc)) != NULL;)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9') {
            double one = seconds_of(e->d_name);

            most = one > most ? one : most;
        }
    if (proc != NULL)
        (void)closedir(proc);
    return most;
}

/* By the processor's time, of which it gets at most twice its budget, however busy the machine is;
 * a second is for three starts. */
static bool excesses_are_stopped(void)
{
    bool ok = true;

    for (size_t i = 0; i < sizeof excesses / sizeof excesses[0]; i++) {
        struct cage *c =
            fixture_cage(1, excesses[i].time_us > 0 ? excesses[i].time_us : 60 * CLOCK_S);
        double before = cage_seconds();

        ok = one_is_stopped(c, str_of(excesses[i].act), &excesses[i]) && ok;
        cage_free(c);
        double used = cage_seconds() - before;

        if (used > 2.0 * TIME_US / CLOCK_S + 1.0)
            printf("# %s used %.2f s\n", excesses[i].act, used);
        ok = ok && used <= 2.0 * TIME_US / CLOCK_S + 1.0;
    }
    return ok;
}

/* No call is needed for it: there is nothing to see. */
static bool environment_is_empty(void)
{
    struct cage *c = fixture_cage(1, 60 * CLOCK_S);
    FIXTURE_JOBS(j);

    (void)setenv("CAGE_SECRET", "do not tell", 1);
    fixture_add(j, STR("environ"));
    cage_run(c, j->jobs, 1);
    bool ok = fixture_is(j, 0, CAGE_DONE, "did not");

    cage_free(c);
    fixture_done(j);
    return ok;
}

static bool all_are_stopped(void)
{
    return calls_are_stopped() && nonsense_is_stopped() && excesses_are_stopped() &&
           environment_is_empty();
}

/* proves: PR7 PR8 */
TEST(escapes_are_stopped)
{
    size_t count = sizeof escapes / sizeof escapes[0] + sizeof excesses / sizeof excesses[0];

    CHECK(count + NONSENSE + 1 >= 40);
    CHECK(all_are_stopped());
}

/* ---- other machines ---- */

/* The calls of Landlock do not exist. */
static bool forget_landlock(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 444, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 446, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof steps / sizeof steps[0], .filter = steps };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 &&
           syscall(444, NULL, (size_t)0, 1) < 0 && errno == ENOSYS;
}

/* User namespaces are off, as the filter of a container says it. */
static bool forget_namespaces(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof steps / sizeof steps[0], .filter = steps };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 &&
           unshare(CLONE_NEWUSER) < 0 && errno == EPERM;
}

/* A user without capabilities, who cannot get any. */
static bool become_nobody(void)
{
    return geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0 && setuid(0) < 0);
}

static int run_scene(const char *scene)
{
    bool there =
        strcmp(scene, "landlock") == 0 ? forget_landlock() : become_nobody() && forget_namespaces();

    if (!there)
        return 2;
    return all_are_stopped() ? 0 : 1;
}

TEST(escapes_are_stopped_without_landlock)
{
    CHECK(again("landlock", NULL, "").status == 0);
}

TEST(escapes_are_stopped_in_a_container)
{
    CHECK(again("container", NULL, "").status == 0);
}

/* ---- a node that is confined ---- */

/* The keeper was started before; nothing else is executed any more. */
static int run_confined(void)
{
    struct err err;

    if (!cage_prepare(NULL, 0, &err))
        return 3;
    (void)confine_process(&err);
    const struct confine_rule rules[] = { { "/proc", CONFINE_READ } };
    struct confine_files_report report;

    (void)confine_files(rules, 1, &(struct confine_ports){ 0 }, &report, &err);
    if (!confine_calls(&err))
        return 4;
    char *const none[] = { NULL };

    if (execve("/proc/self/exe", none, none) == 0)
        return 5;
    return all_are_stopped() ? 0 : 1;
}

TEST(a_confined_program_has_cages)
{
    CHECK(again("confined", NULL, "").status == 0);
}

/* ---- a keeper that has few descriptors ---- */

/* It has room for the three of a request, and keeps one for each process: of two cages the second
 * has to wait until the first is gone, however often it asked. */
static int run_few(void)
{
    enum { ASKED = 4 };
    struct rlimit was, few;
    struct err err;
    FIXTURE_JOBS(j);

    (void)getrlimit(RLIMIT_NOFILE, &was);
    few = (struct rlimit){ .rlim_cur = 8, .rlim_max = was.rlim_max };
    if (setrlimit(RLIMIT_NOFILE, &few) < 0 || !cage_prepare(NULL, 0, &err) ||
        setrlimit(RLIMIT_NOFILE, &was) < 0)
        return 2;
    struct cage *one = fixture_cage(1, 60 * CLOCK_S), *other = fixture_cage(1, 60 * CLOCK_S);

    for (int i = 0; i < ASKED + 2; i++)
        fixture_add(j, STR("echo"));
    cage_run(one, j->jobs, 1);
    if (!fixture_is(j, 0, CAGE_DONE, "echo"))
        return 3;
    for (size_t i = 1; i <= ASKED; i++) {
        cage_run(other, j->jobs + i, 1);
        if (!fixture_failed(j, i, CAGE_NOT_RUN, DEAD_SERVICE_FAILED, "does not start"))
            return 4;
    }
    cage_free(one);
    cage_run(other, j->jobs + ASKED + 1, 1);
    if (!fixture_is(j, ASKED + 1, CAGE_DONE, "echo"))
        return 5;
    cage_free(other);
    fixture_done(j);
    return 0;
}

TEST(a_keeper_with_few_descriptors_goes_on)
{
    CHECK(again("few", NULL, "").status == 0);
}

/* ---- nobody outlives the caller ---- */

/* The processes whose parent is a keeper of ours, or which are one: by their command lines. */
static int count_cages(pid_t session)
{
    DIR *proc = opendir("/proc");
    int found = 0;

    for (struct dirent *e; proc != NULL && (e = readdir(proc)) != NULL;) {
        char path[300], line[200] = "";
        FILE *f;

        (void)snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
        if (e->d_name[0] < '1' || e->d_name[0] > '9' || (f = fopen(path, "re")) == NULL)
            continue;
        size_t n = fread(line, 1, sizeof line - 1, f);

        (void)fclose(f);
        if (n > 13 && memcmp(line, "waybill\0cage\0", 13) == 0 &&
            getsid((pid_t)strtol(e->d_name, NULL, 10)) == session)
            found++;
    }
    if (proc != NULL)
        (void)closedir(proc);
    return found;
}

/* In a session of its own, by which its processes are known: one idle, one that loops. */
static int run_and_die(void)
{
    struct cage *c = fixture_cage(2, 600 * CLOCK_S);
    FIXTURE_JOBS(j);

    fixture_add(j, STR("echo"));
    cage_run(c, j->jobs, 1);
    if (count_cages(getsid(0)) < 2)
        return 3;
    fixture_add(j, STR("loop"));
    (void)alarm(2);
    cage_run(c, j->jobs + 1, 1);
    return 4;
}

/* A program that has no keeper yet has a child that is killed. */
static int run_leave(void)
{
    int status, tries = 600;
    pid_t child = fork();

    if (child == 0) {
        (void)setsid();
        _exit(run_and_die());
    }
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM)
        return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
    while (count_cages(child) > 0 && tries-- > 0)
        clock_sleep_us(100 * CLOCK_MS);
    return count_cages(child) == 0 ? 0 : 5;
}

TEST(no_process_is_left_behind)
{
    CHECK(again("leave", NULL, "").status == 0);
}

int main(int argc, char **argv)
{
    if (cage_main_is(argc, argv))
        return cage_main(argc, argv, &fixture_connectors);
    const char *scene = again_scene(argc, argv);

    if (scene != NULL)
        return strcmp(scene, "confined") == 0 ? run_confined()
               : strcmp(scene, "leave") == 0  ? run_leave()
               : strcmp(scene, "few") == 0    ? run_few()
                                              : run_scene(scene);
    return test_main();
}
