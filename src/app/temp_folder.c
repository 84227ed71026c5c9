#include "app/temp_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/print.h"

enum { TREE_FILES = 16 }; /* descriptors that nftw() may use */

bool temp_folder_make(const char *what, char ret[static PATH_MAX], struct err *err)
{
    const char *temp = getenv("TMPDIR");

    if (temp == NULL || *temp != '/' ||
        snprintf(ret, PATH_MAX, "%s/waybill-%s-XXXXXX", temp, what) >= PATH_MAX)
        (void)snprintf(ret, PATH_MAX, "/tmp/waybill-%s-XXXXXX", what);
    if (mkdtemp(ret) != NULL)
        return true;
    (void)err_set(err, ERR_PERMANENT, errno, "%s: %s", ret, strerror(errno));
    ret[0] = '\0';
    return false;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static bool remove_tree(const char *path)
{
    return nftw(path, remove_one, TREE_FILES, FTW_DEPTH | FTW_PHYS) == 0;
}

void temp_folder_remove(const char *path)
{
    if (path[0] != '\0' && !remove_tree(path))
        (void)print_fail(0, "%s could not be removed: %s", path, strerror(errno));
}

/* ---- the guard ---- */

/* In its process, which no key of a terminal reaches.  A folder that is gone is removed already. */
static _Noreturn void stand_guard(int fd, const char *path)
{
    char byte;

    (void)setsid();
    while (read(fd, &byte, 1) < 0 && errno == EINTR)
        ;
    (void)remove_tree(path);
    _exit(0);
}

static bool start_guard(const char *path, struct temp_guard *ret, struct err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(err, ERR_PERMANENT, errno, "pipe: %s", strerror(errno));
    pid_t pid = fork();

    if (pid == 0) {
        (void)close(ends[1]);
        stand_guard(ends[0], path);
    }
    (void)close(ends[0]);
    if (pid < 0) {
        (void)close(ends[1]);
        return err_set(err, ERR_PERMANENT, errno, "fork: %s", strerror(errno));
    }
    *ret = (struct temp_guard){ .pid = pid, .fd = ends[1] };
    return true;
}

/* No signal comes in between; the guard keeps them blocked. */
bool temp_folder_make_guarded(const char *what, char ret[static PATH_MAX], struct temp_guard *guard,
                              struct err *err)
{
    sigset_t all, usual;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &usual);
    bool made = temp_folder_make(what, ret, err), ok = made && start_guard(ret, guard, err);

    (void)sigprocmask(SIG_SETMASK, &usual, NULL);
    if (made && !ok) {
        temp_folder_remove(ret);
        ret[0] = '\0';
    }
    return ok;
}

void temp_guard_end(struct temp_guard *guard)
{
    if (guard->pid == 0)
        return;
    (void)close(guard->fd);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *guard = (struct temp_guard){ 0 };
}
