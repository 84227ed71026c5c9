/* keeper_main.c - one thread, one loop: requests, leashes, and children that ended. */
#include "cage/keeper_main.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "cage/keeper.h"
#include "cage/keeper_word.h"

struct kept_process {
    pid_t pid;
    int leash;
    bool killed; /* its leash is not polled any more */
};

struct keeper_state {
    const struct keeper_calls *calls;
    int signals;
    struct kept_process kept[KEEPER_PROCESSES_MOST];
    struct pollfd poll[KEEPER_PROCESSES_MOST + 2]; /* requests, signals, leashes */
    size_t count;
};

/* Everybody reads everything, as the dynamic loader may have to, and executes this program and what
 * loads it. */
static const struct confine_rule all_read[] = {
    { "/", CONFINE_READ },     { "/proc/self/exe", CONFINE_RUN }, { "/lib", CONFINE_RUN },
    { "/lib64", CONFINE_RUN }, { "/usr/lib", CONFINE_RUN },       { "/usr/lib64", CONFINE_RUN },
};

enum { ALL_READ = sizeof all_read / sizeof all_read[0], FOLDERS_MOST = 1000 };

/* Writes nothing but in the given folders, and that only for connections to databases.  Its
 * children inherit that, and limit themselves further.  What the kernel does not offer is left out:
 * the node says so in its log. */
static void confine_keeper(char *const *folders, size_t count)
{
    static struct confine_rule rules[ALL_READ + FOLDERS_MOST];
    struct confine_files_report report;
    struct err err;

    memcpy(rules, all_read, sizeof all_read);
    count = count < FOLDERS_MOST ? count : FOLDERS_MOST;
    for (size_t i = 0; i < count; i++)
        rules[ALL_READ + i] = (struct confine_rule){ folders[i], CONFINE_WRITE };
    (void)confine_process(&err);
#if !KEEPER_SANITIZED
    (void)confine_files(rules, ALL_READ + count, &(struct confine_ports){ 0 }, &report, &err);
    (void)confine_calls_of_keeper(&err);
#else
    (void)report;
#endif
}

/* Before it executes anything, a process of a cage gives up writing. */
static void confine_cage(void)
{
#if !KEEPER_SANITIZED
    struct confine_files_report report;
    struct err err;

    (void)confine_files(all_read, ALL_READ, &(struct confine_ports){ 0 }, &report, &err);
#endif
}

/* ---- starting ---- */

_Noreturn static void execute_again(void *arg, enum keeper_task task)
{
    char program[] = "waybill", verb[] = KEEPER_VERB, serve[] = KEEPER_SERVE;
    char connect[] = KEEPER_CONNECT;
    char *const argv[] = { program, verb, task == KEEPER_DATABASE ? connect : serve, NULL };
    char *const none[] = { NULL };

    (void)arg;
    if (task != KEEPER_DATABASE)
        confine_cage();
    (void)execve("/proc/self/exe", argv, none);
    _exit(127);
}

_Noreturn static void become_cage(const struct keeper_calls *calls, enum keeper_task task,
                                  pid_t keeper, const int fds[static KEEPER_FDS])
{
    sigset_t nothing;

    (void)sigemptyset(&nothing);
    (void)sigprocmask(SIG_SETMASK, &nothing, NULL);
    /* Whoever has no keeper ends; the second call finds one that died before the first. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != keeper ||
        dup2(fds[0], KEEPER_SOCKET) < 0 || dup2(fds[1], KEEPER_PAGE) < 0 ||
        close_range(KEEPER_PAGE + 1, ~0U, 0) < 0)
        _exit(126);
    calls->become(calls->arg, task);
    _exit(127);
}

static void say_word(int leash, enum keeper_word_kind kind, int value)
{
    struct keeper_word word = { .kind = kind, .value = value };

    (void)send(leash, &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void start_process(struct keeper_state *k, enum keeper_task task,
                          const int fds[static KEEPER_FDS])
{
    pid_t keeper = getpid(), pid = -1;

    errno = EAGAIN;
    if (k->count < KEEPER_PROCESSES_MOST)
        pid = fork();
    if (pid == 0)
        become_cage(k->calls, task, keeper, fds);
    say_word(fds[2], pid > 0 ? KEEPER_STARTED : KEEPER_REFUSED, pid > 0 ? pid : errno);
    (void)close(fds[0]);
    (void)close(fds[1]);
    if (pid > 0)
        k->kept[k->count++] = (struct kept_process){ .pid = pid, .leash = fds[2] };
    else
        (void)close(fds[2]);
}

/* The descriptors of a message, all or none.  Those above 3, so that dup2() in become_cage() cannot
 * overwrite one. */
static bool take_descriptors(struct msghdr *m, int ret[static KEEPER_FDS])
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);

    if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return false;
    /* For reasons of alignment there is room for more than KEEPER_FDS. */
    size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    bool ok = count == KEEPER_FDS && (m->msg_flags & MSG_CTRUNC) == 0;

    for (size_t i = 0; i < count; i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
        if (i < KEEPER_FDS)
            ret[i] = ok ? fcntl(fd, F_DUPFD_CLOEXEC, KEEPER_PAGE + 1) : -1;
        (void)close(fd);
    }
    if (ok && ret[0] >= 0 && ret[1] >= 0 && ret[2] >= 0)
        return true;
    for (size_t i = 0; i < KEEPER_FDS && i < count; i++)
        if (ret[i] >= 0)
            (void)close(ret[i]);
    return false;
}

/* False: nobody can ask any more. */
static bool hear_request(struct keeper_state *k)
{
    char word;
    struct iovec bytes = { &word, 1 };
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int) * KEEPER_FDS)];
    } with;
    struct msghdr m = { .msg_iov = &bytes,
                        .msg_iovlen = 1,
                        .msg_control = with.room,
                        .msg_controllen = sizeof with.room };
    int fds[KEEPER_FDS];
    ssize_t n = recvmsg(KEEPER_SOCKET, &m, MSG_CMSG_CLOEXEC);

    if (n < 0)
        return errno != ECONNRESET && errno != EBADF && errno != ENOTCONN && errno != ENOTSOCK;
    if (n == 0)
        return false;
    if (take_descriptors(&m, fds))
        start_process(k, word == KEEPER_DATABASE ? KEEPER_DATABASE : KEEPER_CAGE, fds);
    return true;
}

/* ---- ending ---- */

static void reap(struct keeper_state *k)
{
    struct signalfd_siginfo info;
    int status;

    if (read(k->signals, &info, sizeof info) < 0) /* several signals are one */
        return;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (size_t i = 0; i < k->count; i++)
            if (k->kept[i].pid == pid) {
                say_word(k->kept[i].leash, KEEPER_ENDED, status);
                (void)close(k->kept[i].leash);
                k->kept[i] = k->kept[--k->count];
                break;
            }
}

/* ---- the loop ---- */

static void fill_poll(struct keeper_state *k)
{
    k->poll[0] = (struct pollfd){ .fd = KEEPER_SOCKET, .events = POLLIN };
    k->poll[1] = (struct pollfd){ .fd = k->signals, .events = POLLIN };
    for (size_t i = 0; i < k->count; i++)
        k->poll[i + 2] =
            (struct pollfd){ .fd = k->kept[i].killed ? -1 : k->kept[i].leash, .events = POLLIN };
}

/* False: its end has come. */
static bool hear_leash(const struct kept_process *p)
{
    const struct sched_param none = { 0 };
    char word;

    if (recv(p->leash, &word, sizeof word, MSG_DONTWAIT) != (ssize_t)sizeof word ||
        word != KEEPER_LOWER)
        return false;
    (void)sched_setscheduler(p->pid, SCHED_IDLE, &none); /* a courtesy, as its nice value */
    return true;
}

/* Children have not been waited for, so an id is still that of the process. */
static void hear_leashes(struct keeper_state *k, size_t polled)
{
    for (size_t i = 0; i < polled; i++)
        if (k->poll[i + 2].revents != 0 && !k->kept[i].killed && !hear_leash(&k->kept[i])) {
            (void)kill(k->kept[i].pid, SIGKILL);
            k->kept[i].killed = true;
        }
}

int keeper_loop(const struct keeper_calls *calls)
{
    static struct keeper_state k;
    sigset_t child;

    k.calls = calls;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    k.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (k.signals < 0)
        return 1;
    for (;;) {
        size_t polled = k.count;

        fill_poll(&k);
        int ready = poll(k.poll, polled + 2, calls->idle_ms);

        if (ready < 0 && errno != EINTR)
            return 1;
        if (ready == 0 && polled == 0)
            return 0;
        hear_leashes(&k, polled);
        if (k.poll[1].revents != 0)
            reap(&k);
        if (k.poll[0].revents != 0 && !hear_request(&k))
            return 0; /* the kernel kills the children: PR_SET_PDEATHSIG */
    }
}

int keeper_main(char *const *folders, size_t count)
{
    confine_keeper(folders, count);
    return keeper_loop(&(struct keeper_calls){ .become = execute_again, .idle_ms = -1 });
}
