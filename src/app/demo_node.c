#include "app/demo_node.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/require.h"

enum {
    CONFIG_CAP = 64 << 10,
    READY_S = 30,
    STOP_S = 30,
    TURN_US = 20 * CLOCK_MS,
    PATIENCE_MS = 2000,
    LOG_TAIL = 2000,
};

/* ---- folder and configuration ---- */

/* Whether the port is free; 0 wants any.  The probing socket is closed again, so another process
 * may take the port before our node does; then the node fails to start, or its gateway to listen,
 * and says so. */
static bool is_port_free(uint16_t wanted, uint16_t *ret)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(wanted),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int one = 1;
    AUTO_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return false;
    *ret = ntohs(at.sin_port);
    return true;
}

/* DEMO_PORT for HTTP if possible; any other one for MLLP, which nobody has to know by heart. */
static bool find_ports(struct demo_node *n, struct err *err)
{
    if (!is_port_free(DEMO_PORT, &n->port) && !is_port_free(0, &n->port))
        return err_set(err, ERR_TRANSIENT, errno, "no port is free: %s", strerror(errno));
    do {
        if (!is_port_free(0, &n->mllp_port))
            return err_set(err, ERR_TRANSIENT, errno, "no port is free: %s", strerror(errno));
    } while (n->mllp_port == n->port);
    return true;
}

static const char top[] = "# Made by `waybill demo`.\n"
                          "\n"
                          "location: { name: Paper & Pen, environment: demo, colour: blue }\n"
                          "\n"
                          "systems:\n"
                          "  webshop:  { title: Web shop, ids: [WS-01] }\n"
                          "  tills:    { title: Tills of the shops }\n"
                          "  firstaid: { title: First-aid room }\n"
                          "  erp:      { title: Order system, ids: [\"4012345000009\"] }\n"
                          "  finance:  { title: Invoice system, limits: { concurrency: 4 } }\n"
                          "  clinic:   { title: Clinic next door }\n"
                          "  archive:  { title: Archive }\n"
                          "\n"
                          "types:\n"
                          "  order:   { title: Purchase order }\n"
                          "  invoice: { title: Invoice }\n"
                          "  stock:   { title: Stock list }\n"
                          "  visit:   { title: Visit of a patient }\n"
                          "\n";

static const char routes[] = "routes:\n"
                             "  - name: orders\n"
                             "    when: { receiver: erp, type: order }\n"
                             "    do:\n"
                             "      - deliver: [erp-api, archive-folder]\n"
                             "  - name: invoices\n"
                             "    when: { receiver: finance, type: invoice }\n"
                             "    do:\n"
                             "      - deliver: [finance-api]\n"
                             "  - name: stock-lists\n"
                             "    when: { receiver: archive, type: stock }\n"
                             "    do:\n"
                             "      - replace: { find: \";\", with: \",\" }\n"
                             "      - deliver: [archive-folder]\n"
                             "  - name: visits\n"
                             "    when: { receiver: clinic, type: visit }\n"
                             "    do:\n"
                             "      - deliver: [clinic-mllp]\n"
                             "  - name: visits-at-the-clinic\n"
                             "    when: { receiver: archive, type: visit }\n"
                             "    do:\n"
                             "      - deliver: [archive-folder]\n";

/* Writes a path below the demo's folder as a quoted YAML text. */
static void put_path(struct buf *to, const struct demo_node *n, const char *name)
{
    buf_putc(to, '"');
    json_escape(to, str_of(n->dir));
    buf_printf(to, "/%s\"", name);
}

static void write_gateways(struct buf *to, const struct demo_node *n)
{
    buf_puts(to, "gateways:\n"
                 "  orders:\n"
                 "    kind: http\n"
                 "    auth: none\n"
                 "    extract: { sender: \"xml:/Order/Buyer/@id\", "
                 "receiver: \"xml:/Order/Supplier/@id\", type: \"value:order\" }\n"
                 "  invoices:\n"
                 "    kind: http\n"
                 "    auth: none\n"
                 "    extract: { sender: \"json:/from\", receiver: \"json:/to\", "
                 "type: \"value:invoice\" }\n"
                 "  visits:\n"
                 "    kind: http\n"
                 "    auth: none\n"
                 "    extract: { sender: \"value:firstaid\", receiver: \"value:clinic\", "
                 "type: \"value:visit\" }\n");
    buf_printf(to,
               "  clinic: # as if it were another system: what clinic-mllp sends arrives here\n"
               "    kind: mllp\n"
               "    listen: 127.0.0.1:%u\n"
               "    extract: { sender: \"value:clinic\", receiver: \"value:archive\", "
               "type: \"value:visit\" }\n",
               n->mllp_port);
    buf_puts(to, "  stock:\n"
                 "    kind: file\n"
                 "    path: ");
    put_path(to, n, "inbox");
    buf_puts(to, "\n"
                 "    match: \"*.csv\"\n"
                 "    every: 1s\n"
                 "    min_age: 500ms\n"
                 "    after: { move: ");
    put_path(to, n, "taken");
    buf_puts(to, " }\n"
                 "    extract: { sender: \"name:^([a-z]+)-\", receiver: \"value:archive\", "
                 "type: \"value:stock\" }\n\n");
}

static void write_endpoints(struct buf *to, const struct demo_node *n)
{
    buf_printf(to,
               "endpoints:\n"
               "  erp-api:     { kind: http, system: erp, url: \"http://127.0.0.1:%u/orders\" }\n"
               "  finance-api: { kind: http, system: finance, "
               "url: \"http://127.0.0.1:%u/invoices\", timeout: 10s, "
               "retry: { first: 1s, most: 10s, for: 1h }, breaker: { failures: 5, wait: 5s } }\n"
               "  clinic-mllp: { kind: mllp, system: clinic, address: \"127.0.0.1:%u\" }\n"
               "  archive-folder:\n"
               "    kind: file\n"
               "    system: archive\n"
               "    path: ",
               n->mock_port, n->mock_port, n->mllp_port);
    put_path(to, n, "archive");
    buf_puts(to, "\n    name: \"${type}/${date}/${id}\"\n\n");
}

static void write_jobs(struct buf *to, const struct demo_node *n)
{
    buf_printf(to,
               "\n"
               "jobs:\n"
               "  close-tills: { kind: call, url: \"http://127.0.0.1:%u/close\", every: 15s, "
               "title: Asks the invoice system to close the tills, log: all }\n"
               "  sound:       { kind: doctor, every: 5m, title: Checks the store, log: all }\n",
               n->mock_port);
}

static bool demo_node_write_config(const struct demo_node *n, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(CONFIG_CAP);

    buf_printf(&text, "node:\n  listen: 127.0.0.1:%u\n  data: ", n->port);
    put_path(&text, n, "data");
    buf_puts(&text, "\n  limits: { disk_reserve: 64 MiB }\n\n");
    buf_puts(&text, top);
    write_gateways(&text, n);
    write_endpoints(&text, n);
    buf_puts(&text, routes);
    write_jobs(&text, n);
    return publish_bytes(n->dir_fd, "waybill.yaml", buf_view(&text), 0600, err);
}

static bool find_places(struct demo_node *n, const char *dir, struct err *err)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);

    if (len < 0)
        return err_set(err, ERR_PERMANENT, errno, "/proc/self/exe: %s", strerror(errno));
    n->program = arena_text(n->arena, str_mem(path, (size_t)len));
    if (realpath(dir, path) == NULL)
        return err_set(err, ERR_PERMANENT, errno, "%s: %s", dir, strerror(errno));
    n->dir = arena_text(n->arena, str_of(path));
    n->dir_fd = open(n->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (n->dir_fd < 0)
        return err_set(err, ERR_PERMANENT, errno, "%s: %s", n->dir, strerror(errno));
    return true;
}

bool demo_node_prepare(struct demo_node *n, struct arena *a, const char *dir, uint16_t mock_port,
                       struct err *err)
{
    static const char *const folders[] = { "inbox", "taken", "archive" };
    struct stat st;

    *n = (struct demo_node){ .arena = a, .dir_fd = -1, .inbox_fd = -1, .mock_port = mock_port };
    if (!find_places(n, dir, err))
        return false;
    n->used_before = fstatat(n->dir_fd, "data/token", &st, 0) == 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (!file_make_dir(n->dir_fd, folders[i], err))
            return false;
    n->inbox_fd = openat(n->dir_fd, "inbox", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* For child processes, which find the token there. */
    if (setenv("WAYBILL_DATA", arena_printf(a, "%s/data", n->dir), 1) < 0 ||
        unsetenv("WAYBILL_TOKEN") < 0)
        return err_set(err, ERR_PERMANENT, errno, "setenv: %s", strerror(errno));
    if (!find_ports(n, err))
        return false;
    (void)snprintf(n->url, sizeof n->url, "http://127.0.0.1:%u", n->port);
    n->curl = curl_easy_init();
    require(n->curl != NULL);
    return demo_node_write_config(n, err);
}

void demo_node_done(struct demo_node *n)
{
    curl_easy_cleanup(n->curl);
    if (n->inbox_fd >= 0)
        (void)close(n->inbox_fd);
    if (n->dir_fd >= 0)
        (void)close(n->dir_fd);
}

/* ---- process ---- */

/* Runs in the child between fork and exec, so it makes system calls only. */
_Noreturn static void become(const struct demo_node *n, const char *const *words, int log_fd,
                             pid_t parent)
{
    sigset_t none;
    int null = open("/dev/null", O_RDONLY);

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)setpgid(0, 0);
    if (getppid() != parent || dup2(null, STDIN_FILENO) < 0 || dup2(log_fd, STDOUT_FILENO) < 0 ||
        dup2(log_fd, STDERR_FILENO) < 0 || fchdir(n->dir_fd) < 0)
        _exit(127);
    union {
        const char *const *theirs;
        char *const *execs; /* execv() does not change the texts */
    } argv = { .theirs = words };

    (void)execv(n->program, argv.execs);
    _exit(127);
}

/* Starts this program with other arguments; -1: *err says why. */
static pid_t run_self(const struct demo_node *n, const char *const *words, struct err *err)
{
    pid_t self = getpid(), pid;
    AUTO_FD log_fd = openat(n->dir_fd, "node.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (log_fd < 0) {
        (void)err_set(err, ERR_PERMANENT, errno, "node.log: %s", strerror(errno));
        return -1;
    }
    (void)fflush(stdout);
    pid = fork();
    if (pid == 0)
        become(n, words, log_fd, self);
    if (pid < 0)
        (void)err_set(err, ERR_TRANSIENT, errno, "fork: %s", strerror(errno));
    return pid;
}

bool demo_node_spawn(struct demo_node *n, struct err *err)
{
    const char *const words[] = { n->program, "serve", "-c", "waybill.yaml", NULL };
    char text[24];
    pid_t pid = run_self(n, words, err);

    if (pid < 0)
        return false;
    n->pid = pid;
    (void)snprintf(text, sizeof text, "%d\n", (int)pid);
    return publish_bytes(n->dir_fd, "node.pid", str_of(text), 0600, err);
}

/* In a folder that was used before, the stored version has old ports of the mock systems: applies
 * the new configuration. */
static bool apply_config(const struct demo_node *n, struct err *err)
{
    const char *const words[] = { n->program, "apply", "waybill.yaml", "--url", n->url, NULL };
    int status;
    pid_t pid = run_self(n, words, err);

    if (pid < 0)
        return false;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(err, ERR_PERMANENT, 0, "the configuration could not be applied");
    return true;
}

bool demo_node_ended(struct demo_node *n, const char **ret_how)
{
    static char how[60];
    int status;

    if (n->pid == 0 || waitpid(n->pid, &status, WNOHANG) != n->pid)
        return false;
    n->pid = 0;
    if (WIFSIGNALED(status))
        (void)snprintf(how, sizeof how, "signal %d", WTERMSIG(status));
    else
        (void)snprintf(how, sizeof how, "exit status %d", WEXITSTATUS(status));
    *ret_how = how;
    return true;
}

void demo_node_stop(struct demo_node *n)
{
    int64_t until = clock_mono_us() + STOP_S * (int64_t)CLOCK_S;
    const char *how;

    if (n->pid == 0)
        return;
    (void)kill(n->pid, SIGTERM);
    while (!demo_node_ended(n, &how)) {
        if (clock_mono_us() > until)
            (void)kill(n->pid, SIGKILL);
        clock_sleep_us(TURN_US);
    }
}

/* ---- its HTTP interface ---- */

static size_t demo_node_on_write(char *bytes, size_t size, size_t count, void *arg)
{
    struct err full = { 0 };

    return arg == NULL || buf_append(arg, str_mem(bytes, size * count), &full) ? size * count : 0;
}

/* Sends a request; returns the HTTP status, or 0 without an answer. */
static long demo_node_ask(struct demo_node *n, const char *path, struct curl_slist *headers,
                          const struct str *body, struct buf *answer)
{
    char url[128];
    long status = 0;

    (void)snprintf(url, sizeof url, "%s%s", n->url, path);
    curl_easy_reset(n->curl);
    (void)curl_easy_setopt(n->curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(n->curl, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(n->curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(n->curl, CURLOPT_TIMEOUT_MS, (long)PATIENCE_MS);
    (void)curl_easy_setopt(n->curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(n->curl, CURLOPT_WRITEFUNCTION, demo_node_on_write);
    (void)curl_easy_setopt(n->curl, CURLOPT_WRITEDATA, answer);
    if (body != NULL) {
        (void)curl_easy_setopt(n->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
        (void)curl_easy_setopt(n->curl, CURLOPT_POSTFIELDS, body->ptr);
    }
    if (curl_easy_perform(n->curl) == CURLE_OK)
        (void)curl_easy_getinfo(n->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    return status;
}

bool demo_node_await(struct demo_node *n, struct err *err)
{
    int64_t until = clock_mono_us() + READY_S * (int64_t)CLOCK_S;
    const char *how;

    while (demo_node_ask(n, "/readyz", NULL, NULL, NULL) != 200) {
        if (demo_node_ended(n, &how))
            return err_set(err, ERR_PERMANENT, 0, "the node ended with %s", how);
        if (clock_mono_us() > until)
            return err_set(err, ERR_TRANSIENT, 0, "the node is not ready after %d s", READY_S);
        clock_sleep_us(TURN_US);
    }
    return !n->used_before || apply_config(n, err);
}

static struct curl_slist *header(struct curl_slist *list, const char *name, const char *value)
{
    char line[2048];

    (void)snprintf(line, sizeof line, "%s: %s", name, value);
    return curl_slist_append(list, line);
}

bool demo_node_post(struct demo_node *n, const char *gateway, const char *ctype, const char *key,
                    struct str body)
{
    struct curl_slist *headers = header(NULL, "Content-Type", ctype);
    char path[64];
    long status;

    headers = header(headers, "Idempotency-Key", key);
    (void)snprintf(path, sizeof path, "/in/%s", gateway);
    status = demo_node_ask(n, path, headers, &body, NULL);
    return status >= 200 && status < 300;
}

bool demo_node_metrics(struct demo_node *n, struct buf *to)
{
    AUTO(buf_done) struct buf token = BUF_INIT(1024);
    struct err err = { 0 };
    char value[1100];
    struct str line;

    if (!file_read_whole(n->dir_fd, "data/token", &token, &err))
        return false;
    (void)str_cut(buf_view(&token), '\n', &line);
    (void)snprintf(value, sizeof value, "Bearer %.*s", STR_ARG(line));
    return demo_node_ask(n, "/metrics", header(NULL, "Authorization", value), NULL, to) == 200;
}

void demo_node_tell_log(const struct demo_node *n)
{
    AUTO_FD fd = openat(n->dir_fd, "node.log", O_RDONLY | O_CLOEXEC);
    struct err err = { 0 };
    char tail[LOG_TAIL];
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return;
    size_t len = st.st_size < LOG_TAIL ? (size_t)st.st_size : LOG_TAIL;

    if (file_read_at(fd, tail, len, st.st_size - (off_t)len, &err))
        (void)fprintf(stderr, "the end of its log, %s/node.log:\n%.*s\n", n->dir, (int)len, tail);
}
