#include "app/quiet_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"

void quiet_input_done(struct quiet_input *v)
{
    explicit_bzero(v, sizeof *v);
}

static volatile sig_atomic_t interrupted;

static void note_signal(int signo)
{
    interrupted = signo;
}

/* Reads to the end of the file.  With `heard`, the signal mask while waiting, reads one line from a
 * terminal: SIGINT is blocked except inside ppoll(), so that it cannot be lost just before the
 * wait. */
static bool read_quietly(int fd, const sigset_t *heard, struct quiet_input *v)
{
    struct pollfd input = { .fd = fd, .events = POLLIN };

    while (v->len < sizeof v->bytes) {
        if (heard != NULL && ppoll(&input, 1, NULL, heard) < 0) {
            if (errno == EINTR && interrupted == 0)
                continue;
            return false;
        }
        ssize_t n = read(fd, v->bytes + v->len, sizeof v->bytes - v->len);

        if (n < 0)
            return false;
        v->len += (size_t)n;
        if (n == 0 || (heard != NULL && v->bytes[v->len - 1] == '\n'))
            break;
    }
    if (v->len > 0 && v->bytes[v->len - 1] == '\n')
        v->len--;
    if (v->len > 0 && v->bytes[v->len - 1] == '\r')
        v->len--;
    return true;
}

/* Reads without echo and discards what was typed before the prompt.  Ctrl-C ends the program after
 * the echo is switched on again. */
static bool ask_quietly(int fd, const char *what, const char *name, struct quiet_input *v)
{
    struct sigaction noted = { .sa_handler = note_signal }, usual;
    struct termios before, quiet;
    sigset_t interrupt, heard;

    if (tcgetattr(fd, &before) < 0)
        return false;
    quiet = before;
    quiet.c_lflag &= (tcflag_t) ~(ECHO | ECHOE | ECHOK | ECHONL);
    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &interrupt, &heard);
    (void)sigaction(SIGINT, &noted, &usual);
    if (tcsetattr(fd, TCSAFLUSH, &quiet) < 0)
        return false;
    (void)fprintf(stderr, "%s ", what);
    print_text(stderr, name);
    (void)fputs(" (not shown): ", stderr);
    (void)fflush(stderr);
    bool ok = read_quietly(fd, &heard, v);
    int why = errno;

    (void)tcsetattr(fd, TCSAFLUSH, &before);
    (void)fputc('\n', stderr);
    (void)sigaction(SIGINT, &usual, NULL);
    if (interrupted != 0)
        (void)raise(SIGINT);
    (void)sigprocmask(SIG_SETMASK, &heard, NULL);
    errno = why;
    return ok;
}

int quiet_input_read(const char *path, const char *what, const char *name, struct quiet_input *ret)
{
    bool from_stdin = path == NULL || strcmp(path, "-") == 0;
    AUTO_FD file = from_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    int fd = from_stdin ? STDIN_FILENO : file;
    const char *title = from_stdin ? "stdin" : path;
    bool ok = fd >= 0 && (path == NULL && isatty(fd) ? ask_quietly(fd, what, name, ret)
                                                     : read_quietly(fd, NULL, ret));

    if (!ok)
        return print_fail(EXIT_IO, "cannot read %s: %s", title, strerror(errno));
    if (ret->len > QUIET_INPUT_MOST)
        return print_fail(EXIT_NO, "%s is over %d KiB: that is no secret", title,
                          QUIET_INPUT_MOST >> 10);
    if (ret->len == 0)
        return print_fail(EXIT_NO, "%s is empty: a secret has a value", title);
    return EXIT_DONE;
}
