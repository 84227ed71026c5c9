#include "cage/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/require.h"
#include "base/str.h"
#include "cage/keeper_word.h"

enum {
    ANSWER_MS = 30000, /* the keeper's; a machine may be very busy */
    ARGUMENTS_MOST = 8 << 20
};

static struct {
    pthread_mutex_t lock;
    int control; /* -1: there is none */
    pid_t pid;
    bool confined; /* it was started in advance, and cannot be started again */
} keeper = { .lock = PTHREAD_MUTEX_INITIALIZER, .control = -1 };

/* ---- the keeper itself ---- */

/* Sanitizers report on stderr; any other keeper has none. */
static void prepare_descriptors(posix_spawn_file_actions_t *to, int control)
{
    (void)posix_spawn_file_actions_adddup2(to, control, KEEPER_SOCKET);
    (void)posix_spawn_file_actions_addopen(to, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
#if !KEEPER_SANITIZED
    (void)posix_spawn_file_actions_addopen(to, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
#endif
    (void)posix_spawn_file_actions_addclosefrom_np(to, STDERR_FILENO + 1);
}

static int spawn_keeper(int control, const char *const *folders, size_t count, pid_t *ret)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARGUMENTS_MOST);
    char **argv = ARENA_ARRAY(&a, char *, count + 4), *const none[] = { NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t nothing, everything;

    argv[0] = arena_text(&a, STR("waybill"));
    argv[1] = arena_text(&a, STR(KEEPER_VERB));
    argv[2] = arena_text(&a, STR(KEEPER_KEEP));
    for (size_t i = 0; i < count; i++)
        argv[3 + i] = arena_text(&a, str_of(folders[i]));
    (void)sigemptyset(&nothing);
    (void)sigfillset(&everything);
    (void)posix_spawnattr_init(&attr);
    (void)posix_spawnattr_setsigmask(&attr, &nothing);
    (void)posix_spawnattr_setsigdefault(&attr, &everything);
    /* A process group of its own: Ctrl-C in a terminal is for the node, which ends in good order.
     */
    (void)posix_spawnattr_setpgroup(&attr, 0);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    (void)posix_spawn_file_actions_init(&actions);
    prepare_descriptors(&actions, control);
    int failed = posix_spawn(ret, "/proc/self/exe", &actions, &attr, argv, none);

    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attr);
    return failed;
}

/* The lock is held. */
static bool keeper_ensure(const char *const *folders, size_t count, struct err *err)
{
    int ends[2];

    if (keeper.control >= 0)
        return true;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "socketpair: %s", strerror(errno));
    int failed = spawn_keeper(ends[1], folders, count, &keeper.pid);

    (void)close(ends[1]);
    if (failed != 0) {
        (void)close(ends[0]);
        return err_set(err, ERR_TRANSIENT, failed, "starting the keeper of cages: %s",
                       strerror(failed));
    }
    keeper.control = ends[0];
    return true;
}

bool keeper_open(const char *const *folders, size_t count, struct err *err)
{
    (void)pthread_mutex_lock(&keeper.lock);
    bool ok = keeper_ensure(folders, count, err);

    keeper.confined = ok;
    (void)pthread_mutex_unlock(&keeper.lock);
    return ok;
}

/* The keeper is gone, and the kernel has killed its processes.  A node that is confined cannot
 * start another one: it ends, and its next start recovers. */
static void forget_keeper(void)
{
    require(!keeper.confined);
    (void)close(keeper.control);
    keeper.control = -1;
    (void)waitpid(keeper.pid, NULL, 0);
}

/* ---- processes ---- */

/* One message with three descriptors. */
static bool send_request(int control, enum keeper_task task, const int fds[static KEEPER_FDS])
{
    char word = (char)task;
    struct iovec bytes = { &word, 1 };
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int) * KEEPER_FDS)];
    } with = { 0 };
    struct msghdr m = { .msg_iov = &bytes,
                        .msg_iovlen = 1,
                        .msg_control = with.room,
                        .msg_controllen = sizeof with.room };
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * KEEPER_FDS);
    memcpy(CMSG_DATA(c), fds, sizeof(int) * KEEPER_FDS);
    for (;;) {
        if (sendmsg(control, &m, MSG_NOSIGNAL) >= 0)
            return true;
        if (errno != EINTR)
            return false;
    }
}

/* Next to a keeper that has died since, another one is started. */
static bool ask_for_process(enum keeper_task task, const int fds[static KEEPER_FDS],
                            struct err *err)
{
    static const char *const everywhere[] = { "/" };
    bool asked = false;

    (void)pthread_mutex_lock(&keeper.lock);
    for (int i = 0; i < 2 && !asked && keeper_ensure(everywhere, 1, err); i++) {
        asked = send_request(keeper.control, task, fds);
        if (!asked) {
            bool gone = errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN;

            (void)err_set(err, ERR_TRANSIENT, errno, "the keeper of cages: %s", strerror(errno));
            if (!gone) /* short of memory: it lives */
                break;
            forget_keeper();
        }
    }
    (void)pthread_mutex_unlock(&keeper.lock);
    return asked;
}

static bool ask_for_copy(int mould, const int fds[static KEEPER_FDS], struct err *err)
{
    return send_request(mould, KEEPER_CAGE, fds) ||
           err_set(err, ERR_TRANSIENT, errno, "the mould of a cage: %s", strerror(errno));
}

static bool hear_word(int fd, struct keeper_word *ret)
{
    int64_t until = clock_mono_us() + ANSWER_MS * (int64_t)CLOCK_MS;
    struct pollfd p = { .fd = fd, .events = POLLIN };

    for (;;) {
        int64_t left = until - clock_mono_us();

        if (left <= 0)
            return false;
        int ready = poll(&p, 1, (int)(left / CLOCK_MS) + 1);

        if (ready > 0)
            return recv(fd, ret, sizeof *ret, 0) == (ssize_t)sizeof *ret;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

/* mould < 0: asks the keeper. */
static bool start_by(int mould, enum keeper_task task, int socket, int page, struct leash *ret,
                     struct err *err)
{
    struct keeper_word word;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_set(err, ERR_TRANSIENT, errno, "socketpair: %s", strerror(errno));
    const int fds[KEEPER_FDS] = { socket, page, ends[1] };
    bool asked = mould < 0 ? ask_for_process(task, fds, err) : ask_for_copy(mould, fds, err);

    (void)close(ends[1]);
    if (asked && hear_word(ends[0], &word) && word.kind == KEEPER_STARTED) {
        *ret = (struct leash){ .fd = ends[0], .pid = word.value };
        return true;
    }
    (void)close(ends[0]);
    if (!asked)
        return false;
    return err_set(err, ERR_TRANSIENT, 0, "the keeper of cages could not start a process");
}

bool keeper_start(enum keeper_task task, int socket, int page, struct leash *ret, struct err *err)
{
    return start_by(-1, task, socket, page, ret, err);
}

bool keeper_copy(int mould, int socket, int page, struct leash *ret, struct err *err)
{
    return start_by(mould, KEEPER_CAGE, socket, page, ret, err);
}

void leash_lower(const struct leash *l)
{
    const char word = KEEPER_LOWER;

    (void)send(l->fd, &word, sizeof word, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool leash_pull(struct leash *l, int *ret_status)
{
    struct keeper_word word;

    (void)shutdown(l->fd, SHUT_WR);
    bool heard = hear_word(l->fd, &word) && word.kind == KEEPER_ENDED;

    if (heard && ret_status != NULL)
        *ret_status = word.value;
    (void)close(l->fd);
    *l = (struct leash){ .fd = -1 };
    return heard;
}

void leash_drop(struct leash *l)
{
    (void)close(l->fd);
    *l = (struct leash){ .fd = -1 };
}
