/* cmd_secret.c - `waybill secret`: secret values, which configurations refer to by name.
 *
 * A value is read from a file, from stdin, or from the terminal without echo; never from
 * the command line, where everybody on the machine could see it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "app/ask.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"

enum { VALUE_MOST = 64 << 10 };

struct value {
    char bytes[VALUE_MOST + 3]; /* one byte over the limit, and the line end that is removed */
    size_t len;
};

static void value_done(struct value *v)
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
static bool cmd_secret_read_value(int fd, const sigset_t *heard, struct value *v)
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
static bool ask_value(int fd, const char *name, struct value *v)
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
    (void)fputs("value of ", stderr);
    print_text(stderr, name);
    (void)fputs(" (not shown): ", stderr);
    (void)fflush(stderr);
    bool ok = cmd_secret_read_value(fd, &heard, v);
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

/* Reads the value from the file, stdin or the terminal.  Returns the exit status. */
static int get_value(const struct args *a, struct value *v)
{
    const char *path = a->operand[1];
    bool from_stdin = path == NULL || strcmp(path, "-") == 0;
    AUTO_FD file = from_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    int fd = from_stdin ? STDIN_FILENO : file;
    const char *title = from_stdin ? "stdin" : path;
    bool ok = fd >= 0 && (path == NULL && isatty(fd) ? ask_value(fd, a->operand[0], v)
                                                     : cmd_secret_read_value(fd, NULL, v));

    if (!ok)
        return print_fail(EXIT_IO, "cannot read %s: %s", title, strerror(errno));
    if (v->len > VALUE_MOST)
        return print_fail(EXIT_NO, "%s is over %d KiB: that is no secret", title, VALUE_MOST >> 10);
    if (v->len == 0)
        return print_fail(EXIT_NO, "%s is empty: a secret has a value", title);
    return EXIT_DONE;
}

static int cmd_secret_run_add(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    AUTO(value_done) struct value v = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    int got = get_value(a, &v);

    if (got != EXIT_DONE)
        return got;
    json_t *variables = NULL;

    if (memchr(v.bytes, '\0', v.len) == NULL)
        variables = json_pack("{s:s,s:s%}", "name", a->operand[0], "value", v.bytes, v.len);
    if (variables == NULL)
        return print_fail(EXIT_NO, "a secret and its name are text in UTF-8, without zero bytes");
    if (!client_graphql(&c,
                        "mutation($name: String!, $value: String!)"
                        " { secretAdd(name: $name, value: $value) { name fingerprint made by } }",
                        variables, &data))
        return c.exit_code;
    const json_t *made = json_object_get(data, "secretAdd");

    if (member_text(made, "fingerprint") == NULL)
        return client_odd(&c, "no secret in it");
    if (args_flag(a, "json")) {
        print_json(made);
        return EXIT_DONE;
    }
    (void)fputs("secret ", stdout);
    print_text(stdout, a->operand[0]);
    (void)fputs(" is kept, fingerprint ", stdout);
    print_text(stdout, member_text(made, "fingerprint"));
    (void)fputc('\n', stdout);
    return EXIT_DONE;
}

static int cmd_secret_run_ls(const struct args *a)
{
    static const struct list_column columns[] = { { "NAME", "name" },
                                                  { "FINGERPRINT", "fingerprint" },
                                                  { "MADE", "made", .kind = LIST_TIME },
                                                  { "BY", "by" },
                                                  { 0 } };
    static const struct list list = { .query = "{ secrets { name fingerprint made by } }",
                                      .field = "secrets",
                                      .columns = columns };

    return list_whole(a, &list, json_object());
}

static int cmd_secret_run_rm(const struct args *a)
{
    static const struct ask_removal removal = {
        .mutation = "mutation($name: String!) { secretRemove(name: $name) }",
        .field = "secretRemove",
        .noun = "secret",
        .variable = "name"
    };

    return ask_remove(a, &removal);
}

const struct verb cmd_secret = {
    .name = "secret",
    .summary = "passwords and tokens that a configuration names",
    .about = "A configuration names a secret as secret:NAME or ${secret:NAME}.  Its value is\n"
             "sealed in the store under the key in DATA/secret.key, or in the file that\n"
             "WAYBILL_SECRET_KEY_FILE names, and never shown: only a fingerprint, which is\n"
             "the same for the same value.  Keep the key file with your backups, apart from\n"
             "the store's.  One line end behind a value is left out.\n",
    .example = "waybill secret add salsify\n"
               "waybill secret add salsify token.txt\n",
    .forms =
        (const struct arg_form[]){
            { .word = "add",
              .usage = "NAME [FILE|-]",
              .summary = "keep a value, in place of the one before; typed without echo if stdin is "
                         "a terminal",
              .least = 1,
              .most = 2,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_secret_run_add },
            { .word = "ls",
              .summary = "all secrets, without their values",
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_secret_run_ls },
            { .word = "rm",
              .usage = "NAME",
              .summary = "end a secret that the live configuration does not name",
              .least = 1,
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_secret_run_rm },
            { 0 } },
};
