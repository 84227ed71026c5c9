/* escape_acts.h - calls that a step tries in its process: each says "did" if it was possible. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/connector.h"

struct fixture_step;

static bool say_did(struct service_io *io, bool did, struct service_failure *f)
{
    return io->put(io, did ? STR("did") : STR("did not"), f);
}

#define ESCAPE(name, expression)                                                         \
    static bool act_##name(struct fixture_step *s, struct service_io *io, struct str in, \
                           struct service_failure *f)                                    \
    {                                                                                    \
        (void)s;                                                                         \
        (void)in;                                                                        \
        return say_did(io, (expression), f);                                             \
    }

extern char **environ;
static char *fixture_argv[] = { NULL };
static struct stat fixture_stat;
static char fixture_bytes[64];
static struct msghdr fixture_message;

ESCAPE(open, open("/etc/passwd", O_RDONLY) >= 0)
ESCAPE(create, open("/tmp/cage-escape", O_WRONLY | O_CREAT, 0600) >= 0)
ESCAPE(proc, open("/proc/self/environ", O_RDONLY) >= 0)
ESCAPE(memory, open("/proc/self/mem", O_RDWR) >= 0)
ESCAPE(list, opendir("/proc") != NULL)
ESCAPE(stat, stat("/etc/passwd", &fixture_stat) == 0)
ESCAPE(link, readlink("/proc/self/exe", fixture_bytes, sizeof fixture_bytes) > 0)
ESCAPE(unlink, unlink("/tmp/cage-escape") == 0)
ESCAPE(socket, socket(AF_INET, SOCK_STREAM, 0) >= 0)
ESCAPE(unix, socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
ESCAPE(pair, socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0 }) == 0)
ESCAPE(fork, fork() >= 0)
ESCAPE(exec, execve("/bin/true", fixture_argv, fixture_argv) == 0)
ESCAPE(kill_parent, kill(getppid(), 0) == 0)
ESCAPE(kill_all, kill(-1, 0) == 0)
ESCAPE(kill_other, syscall(SYS_tgkill, 1, 1, 0) == 0)
ESCAPE(ptrace, ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
ESCAPE(dup, dup(0) >= 0)
ESCAPE(write_other, write(2, "\n", 1) == 1)
ESCAPE(read_other, read(3, fixture_bytes, 1) >= 0)
ESCAPE(limit, setrlimit(RLIMIT_AS, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }) == 0)
ESCAPE(priority, setpriority(PRIO_PROCESS, 0, 0) == 0)
ESCAPE(shared, mmap(NULL, 4096, PROT_READ, MAP_SHARED, 0, 0) != MAP_FAILED)
ESCAPE(memfd, memfd_create("x", 0) >= 0)
ESCAPE(thread, syscall(SYS_clone, CLONE_VM, NULL, NULL, NULL, NULL) >= 0)
ESCAPE(setuid, setuid(0) == 0)
ESCAPE(rename, rename("/tmp/cage-escape", "/tmp/cage-escaped") == 0)
ESCAPE(mount, mount("none", "/tmp", "tmpfs", 0, NULL) == 0)
ESCAPE(namespace, unshare(CLONE_NEWUSER) == 0)
ESCAPE(exec_at, syscall(SYS_execveat, AT_FDCWD, "/bin/true", fixture_argv, fixture_argv, 0) == 0)
ESCAPE(send_descriptor, sendmsg(0, &fixture_message, 0) >= 0)
ESCAPE(take_descriptor, recvmsg(0, &fixture_message, MSG_DONTWAIT) >= 0)
ESCAPE(uring, syscall(SYS_io_uring_setup, 1, fixture_bytes) >= 0)
ESCAPE(program, syscall(SYS_bpf, 0, fixture_bytes, 8) >= 0)
ESCAPE(keys, syscall(SYS_keyctl, 0, -3, 0) >= 0)
ESCAPE(peek, process_vm_readv(1, NULL, 0, NULL, 0, 0) >= 0)
ESCAPE(open_process, syscall(SYS_pidfd_open, 1, 0) >= 0)
ESCAPE(dumpable, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0)
ESCAPE(timer, setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL) == 0)
ESCAPE(wait, waitpid(-1, NULL, WNOHANG) >= 0)
ESCAPE(print, printf("x\n") > 0 && fflush(stdout) == 0)
/* These are no calls. */
ESCAPE(environ, environ != NULL && environ[0] != NULL)
