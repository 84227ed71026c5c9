/* test_escape.c - what a step tries in its cage, and what comes of it.
 *
 * The same attempts run as they are, on a kernel without Landlock, and as a user without any
 * capability, as in a container.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "again.h"
#include "base/confine.h"
#include "cage/cage.h"
#include "cage_fixture.h"
#include "test.h"

static const char *const escapes[] = {
    "open",     "create",     "proc",   "memory", "list",        "stat",       "link",
    "unlink",   "socket",     "unix",   "pair",   "fork",        "exec",       "kill_parent",
    "kill_all", "kill_other", "ptrace", "dup",    "write_other", "read_other", "limit",
    "priority", "shared",     "memfd",  "thread", "setuid",
};

/* Sanitizers make some of these calls themselves, and write to stderr. */
static bool sanitizer_needs(const char *escape)
{
    return KEEPER_SANITIZED && strcmp(escape, "write_other") == 0;
}

/* Each costs its process, and the next one runs. */
static bool all_are_stopped(void)
{
    struct cage *c = fixture_cage(1, 60 * CLOCK_S);
    bool ok = true;

    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        FIXTURE_JOBS(j);

        fixture_add(j, STR("echo"));
        fixture_add(j, str_of(escapes[i]));
        cage_run(c, j->jobs, 1);
        cage_run(c, j->jobs + 1, 1);
        bool stopped = fixture_is(j, 0, CAGE_DONE, "echo") &&
                       (sanitizer_needs(escapes[i]) ||
                        fixture_failed(j, 1, CAGE_DIED, DEAD_SERVICE_FAILED, "system call"));

        if (!stopped)
            printf("# %s\n", escapes[i]);
        ok = ok && stopped;
        fixture_done(j);
    }
    cage_free(c);
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

TEST(escapes_are_stopped)
{
    CHECK(all_are_stopped());
    CHECK(environment_is_empty());
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

/* A user without capabilities, who cannot get any. */
static bool become_nobody(void)
{
    return geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0 && setuid(0) < 0);
}

static int run_scene(const char *scene)
{
    bool there = strcmp(scene, "landlock") == 0 ? forget_landlock() : become_nobody();

    if (!there)
        return 2;
    return all_are_stopped() && environment_is_empty() ? 0 : 1;
}

TEST(escapes_are_stopped_without_landlock)
{
    CHECK(again("landlock", NULL, "").status == 0);
}

TEST(escapes_are_stopped_without_capabilities)
{
    CHECK(again("nobody", NULL, "").status == 0);
}

/* ---- a node that is confined ---- */

/* The keeper was started before; nothing else is executed any more. */
static int run_confined(void)
{
    struct err err;

    if (!cage_prepare(&err))
        return 3;
    (void)confine_process(&err);
    const struct confine_rule rules[] = { { "/proc", CONFINE_READ } };
    struct confine_files_report report;

    (void)confine_files(rules, 1, 0, &report, &err);
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
                                              : run_scene(scene);
    return test_main();
}
