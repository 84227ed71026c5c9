#include "cage/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/confine.h"
#include "cage/keeper_word.h"

enum {
    NICE = 10,
    CHANCE_FD_MOST = 64 /* libraries open few files */
};

/* ---- limits ---- */

/* What the process has mapped already: the program and its libraries do not count. */
static bool mapped_bytes(int64_t *ret)
{
    AUTO_FD fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char text[64] = "";
    uint64_t pages;
    struct str first;

    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return false;
    (void)str_cut(str_of(text), ' ', &first);
    if (!str_to_u64(first, &pages))
        return false;
    *ret = (int64_t)pages * sysconf(_SC_PAGESIZE);
    return true;
}

static bool set_limit(int what, int64_t value)
{
    struct rlimit r = { .rlim_cur = (rlim_t)value, .rlim_max = (rlim_t)value };

    return setrlimit((__rlimit_resource_t)what, &r) == 0;
}

/* Not one of them can be raised again: the process has no privileges, or no calls for it. */
static bool set_limits(const struct frame_setup *s, struct err *err)
{
    int64_t seconds = s->time_us / CLOCK_S + 1, mapped = 0;

    /* Of all documents together, should nobody be there to end the process. */
    bool ok = set_limit(RLIMIT_CPU, seconds * (s->documents + 1)) && set_limit(RLIMIT_CORE, 0);

#if !KEEPER_SANITIZED
    ok = ok && mapped_bytes(&mapped) && set_limit(RLIMIT_AS, mapped + s->memory) &&
         set_limit(RLIMIT_NOFILE, 1) && set_limit(RLIMIT_NPROC, 0) && set_limit(RLIMIT_FSIZE, 0);
#else
    (void)mapped_bytes;
    (void)mapped;
#endif
    if (!ok)
        return err_set(err, ERR_CONFIG, errno, "the limits of a cage cannot be set: %s",
                       strerror(errno));
    return true;
}

/* ---- the device of chance ---- */

/* Botan, below librnp, reads /dev/urandom by a descriptor that it opened in make(), instead of
 * asking getrandom().  Both are the same source, so that one stays open; -1: there is none. */
static int chance_fd(int above)
{
    struct stat st;

    for (int fd = above + 1; fd <= CHANCE_FD_MOST; fd++)
        if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 9))
            return fd;
    return -1;
}

#if !KEEPER_SANITIZED

static bool close_others(int fd, int chance)
{
    unsigned from = (unsigned)fd + 1;

    if (chance > fd + 1 && close_range(from, (unsigned)chance - 1, 0) < 0)
        return false;
    return close_range(chance > fd ? (unsigned)chance + 1 : from, ~0U, 0) == 0;
}

#endif

/* ---- system calls ---- */

/* What the C library and the libraries of the steps need to compute: memory, locks, clocks, chance,
 * and an end.  sysinfo: qsort() asks how much memory there is.  rt_sigprocmask, getpid, gettid:
 * abort(). */
static const int allowed[] = {
    SCMP_SYS(munmap),         SCMP_SYS(mremap),        SCMP_SYS(mprotect),
    SCMP_SYS(madvise),        SCMP_SYS(brk),           SCMP_SYS(futex),
    SCMP_SYS(sched_yield),    SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
    SCMP_SYS(getrandom),      SCMP_SYS(sysinfo),       SCMP_SYS(restart_syscall),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),  SCMP_SYS(getpid),
    SCMP_SYS(gettid),         SCMP_SYS(exit),          SCMP_SYS(exit_group),
#if KEEPER_SANITIZED
    SCMP_SYS(rt_sigaction),   SCMP_SYS(sigaltstack),   SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
#endif
};

static bool allow_calls(scmp_filter_ctx c, int fd, int chance)
{
    bool ok = true;

    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        ok = ok && seccomp_rule_add(c, SCMP_ACT_ALLOW, allowed[i], 0) == 0;
    ok = ok &&
         seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(read), 1,
                          SCMP_A0_32(SCMP_CMP_EQ, (uint32_t)fd)) == 0 &&
         (chance < 0 || seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(read), 1,
                                         SCMP_A0_32(SCMP_CMP_EQ, (uint32_t)chance)) == 0) &&
         seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
                          SCMP_A0_32(SCMP_CMP_EQ, (uint32_t)fd)) == 0 &&
         /* Memory without a file.  It may be executable: PCRE2 compiles into it. */
         seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                          SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS)) == 0 &&
         /* abort() signals its own process. */
         seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                          SCMP_A0_32(SCMP_CMP_EQ, (uint32_t)getpid())) == 0;
#if KEEPER_SANITIZED
    ok = ok && seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
                                SCMP_A0_32(SCMP_CMP_EQ, STDERR_FILENO)) == 0;
#else
    /* Threads that a library has started are locked up too. */
    ok = ok && seccomp_attr_set(c, SCMP_FLTATR_CTL_TSYNC, 1) == 0;
#endif
    return ok;
}

static bool load_filter(int fd, int chance, struct err *err)
{
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_KILL_PROCESS);
    bool ok = c != NULL &&
              seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
              allow_calls(c, fd, chance);
    int failed = ok ? -seccomp_load(c) : EINVAL;

    /* seccomp_release() would only free memory. */
    if (failed != 0)
        return err_set(err, ERR_CONFIG, failed,
                       "a cage needs seccomp, which this kernel or container refuses: %s",
                       strerror(failed));
    return true;
}

/* ---- out of memory ---- */

#if !KEEPER_SANITIZED

static int64_t memory_budget;

/* A library that is refused memory aborts, or uses the address 0.  If half of the budget cannot be
 * mapped any more, that was the reason.  The process's memory may be damaged: system calls only. */
static void on_crash(int signal)
{
    void *probe = mmap(NULL, (size_t)memory_budget / 2, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (probe == MAP_FAILED)
        _exit(LOCK_NO_MEMORY);
    (void)syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), signal);
}

/* On a stack of its own: the other one may be what overflowed.  The handler is reset before it
 * runs, so the second signal ends the process. */
static void watch_crashes(const struct frame_setup *limits)
{
    static char stack[16 << 10];
    const stack_t own = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction a = { .sa_handler = on_crash,
                           .sa_flags = SA_ONSTACK | SA_NODEFER | (int)SA_RESETHAND };

    memory_budget = limits->memory;
    (void)sigaltstack(&own, NULL);
    (void)sigaction(SIGABRT, &a, NULL);
    (void)sigaction(SIGSEGV, &a, NULL);
    (void)sigaction(SIGBUS, &a, NULL);
}

#endif

bool lock_up(int fd, const struct frame_setup *limits, struct err *err)
{
    int chance = chance_fd(fd);

    (void)setpriority(PRIO_PROCESS, 0, NICE); /* a courtesy */
#if !KEEPER_SANITIZED                         /* which has handlers of its own */
    watch_crashes(limits);
#endif
    if (!set_limits(limits, err))
        return false;
    (void)confine_all();
#if !KEEPER_SANITIZED
    if (!close_others(fd, chance))
        return err_set(err, ERR_PERMANENT, errno, "close_range: %s", strerror(errno));
#endif
    return confine_process(err) && load_filter(fd, chance, err);
}
