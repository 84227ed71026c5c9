/* cmd_demo.c - `waybill demo`: a node, mock systems and live traffic, nothing to configure. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cmd.h"
#include "app/demo_mock.h"
#include "app/demo_node.h"
#include "app/demo_paper.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/temp_folder.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"

enum {
    EACH_US = 200 * CLOCK_MS, /* between two documents: five a second */
    STATUS_US = CLOCK_S,
    STATUS_CALM_US = 10 * CLOCK_S, /* when stdout is not a terminal */
    EARLY_US = 5 * CLOCK_S,
    EARLY_ENDS_MOST = 3, /* consecutive early exits after which the demo gives up */
    METRICS_CAP = 4 << 20,
};

struct demo {
    struct arena arena;
    char made[PATH_MAX]; /* temporary folder, removed at the end; empty: --dir was given */
    struct demo_mock *mock;
    struct demo_node node;
    sigset_t signals;
    int64_t began_us; /* wall clock; part of the idempotency keys, so that runs do not share them */
    uint64_t papers;  /* documents accepted by the node */
    int64_t spawned_us, told_us; /* monotonic */
    int early_ends;
    bool terminal, line_open;
};

/* ---- folder ---- */

static bool cmd_demo_find_folder(struct demo *d, const char *given, const char **ret,
                                 struct err *err)
{
    if (given != NULL) {
        if (mkdir(given, 0700) < 0 && errno != EEXIST)
            return err_set(err, ERR_PERMANENT, errno, "%s: %s", given, strerror(errno));
        *ret = given;
        return true;
    }
    if (!temp_folder_make("demo", d->made, err))
        return false;
    *ret = d->made;
    return true;
}

/* ---- output ---- */

/* Quotes the text as one word of the shell. */
static void put_word(struct buf *to, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+:@%,=";

    if (text[strspn(text, plain)] == '\0') {
        buf_puts(to, text);
        return;
    }
    buf_putc(to, '\'');
    for (const char *p = text; *p != '\0'; p++)
        if (*p == '\'')
            buf_puts(to, "'\\''");
        else
            buf_putc(to, *p);
    buf_putc(to, '\'');
}

/* A command to copy: "WAYBILL_DATA=DIR/data PROGRAM WORDS [--url URL]". */
static const char *command(struct demo *d, const char *words)
{
    AUTO(buf_done) struct buf text = BUF_INIT(32 << 10);

    buf_puts(&text, "WAYBILL_DATA=");
    put_word(&text, arena_printf(&d->arena, "%s/data", d->node.dir));
    buf_putc(&text, ' ');
    put_word(&text, d->node.program);
    buf_printf(&text, " %s", words);
    if (d->node.port != DEMO_PORT)
        buf_printf(&text, " --url %s", d->node.url);
    return arena_text(&d->arena, buf_view(&text));
}

static void tell_what_runs(struct demo *d)
{
    const char *dir = d->node.dir;
    unsigned mock = demo_mock_port(d->mock);
    AUTO(buf_done) struct buf pid_file = BUF_INIT(32 << 10);

    put_word(&pid_file, arena_printf(&d->arena, "%s/node.pid", dir));
    (void)printf("A node runs, and five documents a second are on the road.\n"
                 "\n"
                 "  node            %s   log: %s/node.log\n"
                 "  console         %s/   in a browser; log in with the token\n"
                 "  configuration   %s/waybill.yaml\n"
                 "  token           %s/data/token\n"
                 "  orders    XML   -> %s/in/orders -> http://127.0.0.1:%u/orders\n"
                 "                     and a copy into %s/archive\n"
                 "  invoices  JSON  -> %s/in/invoices -> http://127.0.0.1:%u/invoices\n"
                 "                     which is busy now and then, slow at times, and down for\n"
                 "                     a while every two minutes\n"
                 "  stock     CSV   -> %s/inbox -> %s/archive\n"
                 "  visits    HL7   -> %s/in/visits -> MLLP to 127.0.0.1:%u, a gateway of\n"
                 "                     the same node -> %s/archive\n"
                 "  jobs            every 15 seconds http://127.0.0.1:%u/close, and a check of\n"
                 "                     the store: `g j` in the console\n"
                 "\n",
                 d->node.url, dir, d->node.url, dir, dir, d->node.url, mock, dir, d->node.url, mock,
                 dir, dir, d->node.url, d->node.mllp_port, dir, mock);
    (void)printf(
        "Three things to try, in another terminal:\n"
        "\n"
        "  1  send an order of your own, and look where it is\n"
        "     echo '<Order number=\"1\"><Buyer id=\"WS-01\"/><Supplier id=\"4012345000009\"/>"
        "</Order>' | %s\n"
        "     %s\n"
        "\n"
        "  2  what could not be delivered, and why\n"
        "     %s\n"
        "\n"
        "  3  kill the node; the demo starts it again, and nothing is lost\n"
        "     kill -9 $(cat %s)\n"
        "\n"
        "Ctrl-C ends it%s.\n\n",
        command(d, "send orders -"), command(d, "docs ls --limit 5"),
        command(d, "dead ls --limit 10"), pid_file.ptr,
        d->made[0] != '\0' ? " and removes the folder" : "; the folder stays");
    (void)fflush(stdout);
}

/* The sum of a metric over all labels. */
static double metric(struct str text, const char *name)
{
    double sum = 0;
    struct str line;

    while (text.len > 0) {
        text = str_cut(text, '\n', &line);
        ptrdiff_t blank = str_find(line, ' ');

        if (str_starts(line, str_of(name)) && blank > 0)
            sum += strtod(line.ptr + blank + 1, NULL); /* stops at the line break or the end */
    }
    return sum;
}

static void tell_status(struct demo *d, int64_t now_us)
{
    AUTO(buf_done) struct buf text = BUF_INIT(METRICS_CAP);
    struct demo_mock_counts c;
    char clock[CLOCK_TEXT];

    if (now_us - d->told_us < (d->terminal ? STATUS_US : STATUS_CALM_US))
        return;
    d->told_us = now_us;
    (void)clock_local_text(clock_wall_us(), clock);
    demo_mock_count(d->mock, &c);
    (void)printf("%s%.8s  sent %" PRIu64 "  arrived: orders %" PRIu64 ", invoices %" PRIu64
                 " (%" PRIu64 " times busy)  ",
                 d->terminal ? "\r\033[K" : "", clock + 11, d->papers, c.orders, c.invoices,
                 c.refused);
    if (demo_node_metrics(&d->node, &text))
        (void)printf("waiting %.0f", metric(buf_view(&text), "waybill_queue_depth"));
    else
        (void)printf("the node does not answer");
    if (!d->terminal)
        (void)putchar('\n');
    d->line_open = d->terminal;
    (void)fflush(stdout);
}

/* Ends the status line, if it is open. */
static void cmd_demo_next_line(struct demo *d)
{
    if (d->line_open)
        (void)putchar('\n');
    d->line_open = false;
}

/* ---- traffic ---- */

/* Sends one document.  Without an answer the same one is sent again next time, under the same
 * idempotency key. */
static void send_paper(struct demo *d)
{
    AUTO(buf_done) struct buf text = BUF_INIT(DEMO_PAPER_CAP);
    struct err err = { 0 };
    char name[80];
    bool ok;

    demo_paper_write(d->papers, d->began_us, &text);
    (void)snprintf(name, sizeof name, "%" PRIx64 "-%" PRIu64, (uint64_t)d->began_us, d->papers);
    switch (demo_paper_kind(d->papers)) {
    case DEMO_ORDER:
        ok = demo_node_post(&d->node, "orders", "application/xml", name, buf_view(&text));
        break;
    case DEMO_INVOICE:
        ok = demo_node_post(&d->node, "invoices", "application/json", name, buf_view(&text));
        break;
    case DEMO_VISIT:
        ok = demo_node_post(&d->node, "visits", "application/hl7-v2", name, buf_view(&text));
        break;
    default:
        (void)snprintf(name, sizeof name, "tills-%" PRIx64 "-%05" PRIu64 ".csv",
                       (uint64_t)d->began_us, d->papers);
        ok = publish_bytes(d->node.inbox_fd, name, buf_view(&text), 0600, &err);
        break;
    }
    d->papers += ok;
}

static bool start_node(struct demo *d, struct err *err)
{
    d->spawned_us = clock_mono_us();
    return demo_node_spawn(&d->node, err);
}

/* The node has exited unexpectedly: starts it again, unless it keeps exiting early. */
static bool cmd_demo_revive(struct demo *d, const char *how, struct err *err)
{
    bool early = clock_mono_us() - d->spawned_us < EARLY_US;

    d->early_ends = early ? d->early_ends + 1 : 0;
    if (d->early_ends >= EARLY_ENDS_MOST)
        return err_set(err, ERR_PERMANENT, 0, "the node ends again and again, last with %s", how);
    cmd_demo_next_line(d);
    (void)printf("the node ended with %s: starting it again\n", how);
    (void)fflush(stdout);
    return start_node(d, err);
}

/* Waits until the next document is due or a signal arrives; true: the signal asks to stop. */
static bool told_to_stop(struct demo *d, int64_t until_us)
{
    int64_t wait = until_us - clock_mono_us();
    struct timespec t = { .tv_sec = wait > 0 ? wait / CLOCK_S : 0,
                          .tv_nsec = wait > 0 ? wait % CLOCK_S * 1000 : 0 };
    int sig = sigtimedwait(&d->signals, NULL, &t);

    return sig == SIGINT || sig == SIGTERM || sig == SIGHUP;
}

static bool run_traffic(struct demo *d, struct err *err)
{
    int64_t due = clock_mono_us();
    const char *how;

    while (!told_to_stop(d, due)) {
        if (demo_node_ended(&d->node, &how) && !cmd_demo_revive(d, how, err))
            return false;
        if (clock_mono_us() < due)
            continue; /* woken by a signal before the time */
        send_paper(d);
        int64_t now = clock_mono_us();

        due = due + EACH_US > now ? due + EACH_US : now;
        tell_status(d, now);
    }
    return true;
}

/* ---- start and stop ---- */

static bool cmd_demo_start(struct demo *d, const char *given, struct err *err)
{
    const char *dir = NULL;

    if (!cmd_demo_find_folder(d, given, &dir, err) || !demo_mock_open(&d->mock, err) ||
        !demo_node_prepare(&d->node, &d->arena, dir, demo_mock_port(d->mock), err))
        return false;
    return start_node(d, err) && demo_node_await(&d->node, err);
}

/* Stops the mock systems after the node, because the node may still send to them. */
static void cmd_demo_stop(struct demo *d)
{
    cmd_demo_next_line(d);
    if (d->node.pid != 0) {
        (void)printf("stopping\n");
        (void)fflush(stdout);
    }
    demo_node_stop(&d->node);
    demo_mock_close(d->mock);
    if (d->node.arena != NULL)
        demo_node_done(&d->node);
    temp_folder_remove(d->made);
    arena_done(&d->arena);
}

static void block_signals(struct demo *d)
{
    (void)sigemptyset(&d->signals);
    (void)sigaddset(&d->signals, SIGINT);
    (void)sigaddset(&d->signals, SIGTERM);
    (void)sigaddset(&d->signals, SIGHUP);
    (void)sigaddset(&d->signals, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &d->signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

static int run_demo(const struct args *a)
{
    struct demo d = { .arena = ARENA_INIT(1 << 20),
                      .terminal = isatty(STDOUT_FILENO) == 1,
                      .began_us = clock_wall_us() };
    struct err err = { 0 };
    bool ok;

    (void)umask(077);
    block_signals(&d);
    ok = cmd_demo_start(&d, args_text(a, "dir"), &err);
    if (ok) {
        tell_what_runs(&d);
        ok = run_traffic(&d, &err);
    }
    if (!ok) {
        cmd_demo_next_line(&d);
        (void)print_fail(0, "demo: %s", err.text);
        if (d.node.arena != NULL)
            demo_node_tell_log(&d.node);
    }
    cmd_demo_stop(&d);
    return ok ? EXIT_DONE : EXIT_NO;
}

static const struct arg_option demo_options[] = {
    { .name = "dir",
      .kind = ARG_TEXT,
      .value = "DIR",
      .help = "use this folder and keep it; else a temporary one, which is removed" },
    { 0 },
};

const struct verb cmd_demo = {
    .name = "demo",
    .summary = "a node, mock receivers and live example traffic; nothing to configure",
    .about = "Five documents a second, orders in XML, invoices in JSON, stock lists in CSV and\n"
             "patients' visits in HL7, go through a node of their own to an order system, an\n"
             "invoice system that is busy now and then, a clinic over MLLP, and an archive\n"
             "folder.  What runs where is printed, with three things to try.  Ctrl-C ends it.\n",
    .example = "waybill demo\n"
               "waybill demo --dir ./demo\n",
    .forms = (const struct arg_form[]){ { .usage = "[--dir DIR]",
                                          .summary = "run until Ctrl-C",
                                          .options = demo_options,
                                          .run = run_demo },
                                        { 0 } },
};
