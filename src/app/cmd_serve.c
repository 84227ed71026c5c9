#include "app/cmd_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admin/api.h"
#include "admin/http_api.h"
#include "admin/login/login.h"
#include "app/confine_node.h"
#include "app/exit_code.h"
#include "app/front.h"
#include "app/reach.h"
#include "app/registry.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/egress.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/key.h"
#include "base/log.h"
#include "base/loop.h"
#include "cage/cage.h"
#include "core/config.h"
#include "engine/engine.h"
#include "engine/intake/intake.h"
#include "engine/intake/listeners.h"
#include "engine/upkeep/file_config.h"
#include "job/jobs.h"
#include "sql/sql_file.h"
#include "store/open.h"
#include "store/road/recorder.h"
#include "store/store.h"

enum {
    TEXT_MOST = 4 << 20,
    GRACE_MS = 20000, /* for running requests when the node stops */
    STORE_WAIT_US = CLOCK_S,
    PER_ADDRESS_LEAST = 64,
    OWN_FILES = 1024, /* descriptors reserved for everything but connections */
};

struct node {
    const char *file;
    bool apply, yes; /* --apply: the file is the truth; --yes: it may remove what is in use */
    bool unconfined;
    struct buf text;
    struct config *config;
    struct buf data_path;
    struct tls_context *tls;
    struct loop *loops[ENGINE_LOOPS_MOST];
    size_t loop_count;
    struct engine *engine;
    struct jobs *jobs;
    struct api *api;
    struct http_api *http_api;
    struct front *front;
    struct http_server *server;
    struct memory_share memory; /* of what is on its way in */
    struct egress egress;
    sigset_t signals;
};

/* ---- configuration and token ---- */

static int cmd_serve_say(const char *what, const struct err *err, int code)
{
    (void)fprintf(stderr, "waybill: %s: %s\n", what, err->text);
    return code;
}

static const enum log_level log_levels[] = { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
static const struct config_options config_options = { .connectors = &registry,
                                                      .expand_node = true };

static bool read_config(struct node *n, struct config_report *report)
{
    struct err err = { 0 };

    if (!file_read_whole(AT_FDCWD, n->file, &n->text, &err)) {
        (void)fprintf(stderr, "waybill: %s\n", err.text);
        return false;
    }
    n->config = config_load(buf_view(&n->text), n->file, &config_options, report);
    for (size_t i = 0; i < report->problems.count; i++) {
        const struct problem *p = &report->problems.items[i];

        (void)fprintf(stderr, "%s:%u:%u: %s\n", n->file, p->place.line, p->place.column,
                      p->message);
        if (p->hint != NULL)
            (void)fprintf(stderr, "    %s\n", p->hint);
    }
    if (n->config == NULL)
        (void)fprintf(stderr, "%s: %zu problem%s; nothing was started\n", n->file,
                      report->problems.count, report->problems.count == 1 ? "" : "s");
    return n->config != NULL;
}

/* Reads the admin token from DATA/token; makes it at the first start, readable by its owner only.
 */
static bool admin_token(int data_fd, struct sha256 *ret, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(1024);
    struct err missing = { 0 };

    if (!file_read_whole(data_fd, "token", &text, &missing)) {
        char token[KEY_SECRET];

        if (missing.sys != ENOENT) {
            *err = missing;
            return false;
        }
        key_secret(token);
        buf_printf(&text, "%s\n", token);
        if (!publish_bytes(data_fd, "token", buf_view(&text), 0600, err))
            return false;
    }
    struct str token;

    (void)str_cut(buf_view(&text), '\n', &token);
    if (token.len < 20)
        return err_set(err, ERR_CONFIG, 0,
                       "the admin token is shorter than 20 bytes: remove the file `token` to get "
                       "a new one");
    *ret = digest_of(token);
    return true;
}

/* ---- start ---- */

static void store_trouble_log(void *arg, const char *what, const struct err *err)
{
    (void)arg;
    log_event(LOG_WARN, "store.trouble", kv_z("what", what), kv_z("why", err->text));
}

static void store_step_log(const char *what)
{
    log_event(LOG_INFO, "store.step", kv_z("what", what));
}

/* The same for the attempts while it waits. */
static void store_step_again(const char *what)
{
    log_event(LOG_DEBUG, "store.step", kv_z("what", what));
}

static bool stop_asked(struct node *n, int64_t wait_us)
{
    struct timespec t = { .tv_sec = wait_us / CLOCK_S, .tv_nsec = wait_us % CLOCK_S * 1000 };
    int sig = sigtimedwait(&n->signals, NULL, &t);

    return sig == SIGTERM || sig == SIGINT;
}

static size_t loops_for_this_machine(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores >= 8 ? 4 : cores >= 4 ? 2 : 1;
}

/* Opens TLS, or loads the certificate that `node` names now. */
static bool cmd_serve_set_tls(struct node *n, const struct config_node *node, struct err *err)
{
    AUTO(buf_done) struct buf cert = BUF_INIT(1 << 20), key = BUF_INIT(1 << 20);

    if (node->tls_cert == NULL)
        return true;
    if (config_is_pem(node->tls_cert))
        buf_puts(&cert, node->tls_cert);
    else if (!config_path(node->tls_cert, n->file, &cert, err))
        return false;
    if (config_is_pem(node->tls_key))
        buf_puts(&key, node->tls_key);
    else if (!config_path(node->tls_key, n->file, &key, err))
        return false;
    return n->tls != NULL ? tls_context_reload(n->tls, cert.ptr, key.ptr, err)
                          : tls_context_open(cert.ptr, key.ptr, &n->tls, err);
}

/* Limits connections by the number of file descriptors.  Each connection takes one, but storing
 * documents and the admin API need descriptors as well. */
static uint32_t connections_for(const struct config_node *node)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return (uint32_t)node->connections;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
        (void)getrlimit(RLIMIT_NOFILE, &files);
    uint64_t own = files.rlim_cur / 2 < OWN_FILES ? files.rlim_cur / 2 : OWN_FILES;
    uint64_t room = files.rlim_cur - own;

    if (node->connections <= room)
        return (uint32_t)node->connections;
    log_event(LOG_WARN, "node.limit", kv_z("what", "connections"),
              kv_int("configured", (int64_t)node->connections), kv_int("used", (int64_t)room),
              kv_z("hint", "The limit of open files allows no more: raise it (ulimit -n)."));
    return (uint32_t)room;
}

/* A quarter of the connections, so that one address cannot take them all; a few are never too many.
 */
static uint32_t per_address_for(const struct config_node *node, uint32_t connections)
{
    uint32_t part = connections / 4 > PER_ADDRESS_LEAST ? connections / 4 : PER_ADDRESS_LEAST;

    return node->per_address > 0 ? (uint32_t)node->per_address : part;
}

static bool cmd_serve_start_loops(struct node *n, struct err *err)
{
    size_t count = loops_for_this_machine();

    while (n->loop_count < count) {
        char name[32];

        (void)snprintf(name, sizeof name, "io %zu", n->loop_count);
        if (!loop_start(name, &n->loops[n->loop_count], err))
            return false;
        n->loop_count++;
    }
    return true;
}

/* Opens the port, once; until open_doors() the front answers by itself. */
static bool listen_now(struct node *n, struct err *err)
{
    const struct config_node *node = &n->config->node;
    struct http_server_options o = { .host = node->listen.host,
                                     .port = node->listen.port,
                                     .tls = n->tls,
                                     .handler = &front_handler,
                                     .is_reserved = front_is_reserved,
                                     .trust = node->trust.items,
                                     .trust_count = node->trust.count,
                                     .limits = HTTP_LIMITS_DEFAULT };

    if (n->server != NULL)
        return true;
    o.limits.connections = connections_for(node);
    o.limits.per_address = per_address_for(node, o.limits.connections);
    o.memory = &n->memory;
    o.limits.conn_requests = 0;
    if (n->front == NULL)
        n->front = front_new(&n->config->node.monitors);
    o.arg = n->front;
    if (!http_server_start(&o, n->loops, n->loop_count, &n->server, err))
        return err_context(err, "listen on %s:%u", node->listen.host, node->listen.port);
    atomic_store(&n->egress.own_port, http_server_port(n->server));
    return true;
}

static bool open_doors(struct node *n, struct err *err)
{
    if (!api_new(&n->api, err))
        return false;
    n->http_api = http_api_new(n->engine, n->jobs, n->api, &n->config->node.monitors);
    if (n->front == NULL)
        n->front = front_new(&n->config->node.monitors);
    front_open(n->front, engine_intake(n->engine), n->http_api);
    if (!listen_now(n, err))
        return false;
    http_api_watch(n->http_api, n->server);
    return true;
}

static void listens_on(struct node *n, char ret[static 300])
{
    (void)snprintf(ret, 300, "%s:%u", n->config->node.listen.host, http_server_port(n->server));
}

static bool is_worth_waiting(const struct node *n, const struct err *err)
{
    return (err->kind == ERR_TRANSIENT && n->config->node.store != NULL) ||
           (err->kind == ERR_LIMIT && err->sys == ENOSPC);
}

/* One log line, however long it takes. */
static bool wait_with_open_port(struct node *n, struct err *err)
{
    struct err why = *err;
    bool first = n->server == NULL;

    if (!listen_now(n, err))
        return false;
    front_wait(n->front, why.text, why.kind == ERR_LIMIT);
    if (first) {
        char listen[300];

        listens_on(n, listen);
        log_event(LOG_WARN, "store.wait", kv_z("why", why.text), kv_z("listen", listen),
                  kv_z("hint", why.kind == ERR_LIMIT
                                   ? "The node starts when there is space again."
                                   : "The node starts when the database can be reached."));
    }
    return true;
}

/* Opens the store.  A database that cannot be reached, or has no space left, is waited for: the
 * port is open meanwhile, so that the node is seen to live, and not to be ready. */
static struct store *open_store(struct node *n, struct err *err)
{
    const struct config_node *node = &n->config->node;
    static const char *const areas[] = { "localhost", "internal", "dmz", "external", "anywhere" };
    struct store_options o = { .data = n->data_path.ptr,
                               .url = node->store,
                               .area = areas[node->area],
                               .name = node->name,
                               .queue_most = (size_t)node->commit_queue * 2 + 1024,
                               .trouble = store_trouble_log,
                               .step = store_step_log };
    int64_t since_us = clock_mono_us();
    struct store *s;

    for (;;) {
        *err = (struct err){ 0 };
        if (store_open(&o, &s, err)) {
            if (n->server != NULL)
                log_event(LOG_INFO, "store.reach",
                          kv_int("after_ms", (clock_mono_us() - since_us) / 1000));
            return s;
        }
        if (!is_worth_waiting(n, err) || !wait_with_open_port(n, err))
            return NULL;
        o.step = store_step_again;
        if (stop_asked(n, STORE_WAIT_US)) {
            *err = (struct err){ 0 }; /* stopped by a signal: that is no error */
            return NULL;
        }
    }
}

static void set_egress(struct node *n)
{
    const struct config_node *node = &n->config->node;

    n->egress.allowed = node->egress.items;
    n->egress.allowed_count = node->egress.count;
    n->egress.environment_proxy = node->environment_proxy;
    n->egress.is_gateway = front_is_gateway;
    atomic_store(&n->egress.own_port, node->listen.port); /* 0: known when it listens */
}

static bool cmd_serve_start(struct node *n, struct err *err)
{
    bool file_rules = n->apply || n->config->node.source == CONFIG_FROM_FILE;
    struct engine_options o = { .node = &n->config->node,
                                .file_text = buf_view(&n->text),
                                .file = file_rules ? n->file : NULL,
                                .confirmed = n->yes,
                                .loops = n->loops,
                                .connectors = &registry,
                                .memory = &n->memory,
                                .egress = &n->egress };
    struct store *store;

    n->memory.most = (int64_t)n->config->node.memory_bytes / 2; /* the rest is the engine's */
    set_egress(n);
    if (!buf_append(&n->data_path, str_of(n->config->node.data), err) ||
        !cmd_serve_set_tls(n, &n->config->node, err) || !cmd_serve_start_loops(n, err))
        return false;
    o.loop_count = n->loop_count;
    store = open_store(n, err);
    if (store == NULL)
        return false;
    if (!admin_token(store_data_fd(store), &o.admin_token, err)) {
        store_close(store);
        return err_context(err, "data folder %s", n->data_path.ptr);
    }
    recorder_watch_signals(store_recorder(store));
    return engine_start(&o, store, &n->engine, err) && jobs_start(n->engine, &n->jobs, err) &&
           open_doors(n, err);
}

/* Returns how many threads hang in calls to the outside and cannot be ended. */
static size_t cmd_serve_stop(struct node *n)
{
    size_t lost = 0;

    if (n->engine != NULL && engine_intake(n->engine) != NULL)
        intake_note_stopping(engine_intake(n->engine));
    http_api_rest(n->http_api);
    if (n->server != NULL)
        http_server_stop(n->server, GRACE_MS);
    jobs_stop(n->jobs);
    if (n->engine != NULL) {
        engine_stop(n->engine);
        lost = engine_lost(n->engine);
    }
    jobs_free(n->jobs);
    http_api_free(n->http_api);
    front_free(n->front);
    api_free(n->api);
    http_server_free(n->server);
    for (size_t i = 0; i < n->loop_count; i++) /* the last messages of the engine run */
        loop_stop(n->loops[i]);
    if (n->engine != NULL)
        engine_free(n->engine);
    tls_context_close(n->tls);
    config_unref(n->config);
    buf_done(&n->text);
    buf_done(&n->data_path);
    return lost;
}

/* ---- run ---- */

/* The file is the truth, and was read again.  One that does not say so any more is another file, or
 * was cut off. */
static void apply_again(const struct node *n, const struct config *fresh, struct str text)
{
    struct file_config *f = engine_file_config(n->engine);

    if (f == NULL)
        return;
    if (n->apply || fresh->node.source == CONFIG_FROM_FILE)
        file_config_apply(f, text);
    else
        file_config_refuse(f,
                           "it does not say `node: { config: file }` any more; the node keeps to "
                           "what it said until it is started again");
}

/* Reads the configuration file again, and applies it where it is the truth; NULL: it is invalid,
 * and the reason is logged. */
static struct config *read_again(const struct node *n)
{
    AUTO(buf_done) struct buf text = BUF_INIT(TEXT_MOST);
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = NULL;
    struct err err = { 0 };

    if (file_read_whole(AT_FDCWD, n->file, &text, &err))
        c = config_load(buf_view(&text), n->file, &config_options, &report);
    if (c == NULL) {
        bool read = report.problems.count > 0;
        const struct problem *p = &report.problems.items[0];
        struct file_config *f = engine_file_config(n->engine);

        log_event(LOG_WARN, "config.refuse", kv_z("file", n->file),
                  kv_int("line", read ? p->place.line : 0),
                  kv_z("why", read ? p->message : err.text));
        if (f != NULL)
            file_config_trouble(f, read ? p->message : err.text);
    } else {
        apply_again(n, c, buf_view(&text));
    }
    return c;
}

/* SIGHUP: loads the certificate and the log level from the file again, and the whole configuration
 * where the file is the truth. */
static void reload(struct node *n)
{
    struct config *fresh = read_again(n);
    const struct config_node *node = fresh != NULL ? &fresh->node : &n->config->node;
    struct err err = { 0 };

    if (n->tls != NULL && !cmd_serve_set_tls(n, node, &err))
        log_event(LOG_ERROR, "tls.refuse", kv_z("why", err.text),
                  kv_z("hint", "The old certificate stays in use."));
    listeners_renew(engine_listeners(n->engine));
    log_set_level(log_levels[node->log]);
    log_event(LOG_INFO, "node.reload", kv_bool("ok", fresh != NULL && err.kind == ERR_NONE));
    config_unref(fresh);
}

static void say_ready(struct node *n)
{
    char listen[300];

    listens_on(n, listen);
    log_event(LOG_INFO, "node.ready", kv_z("listen", listen), kv_bool("tls", n->tls != NULL),
              kv_z("data", n->data_path.ptr),
              kv_z("store", n->config->node.store != NULL ? "postgresql" : "sqlite"),
              kv_int("version", intake_version(engine_intake(n->engine))), kv_int("pid", getpid()));
}

/* While there is no user, makes a link to create the first one.  It is logged, and on a terminal
 * also printed in plain text. */
static void say_first(struct node *n)
{
    const char *host = n->config->node.listen.host;
    char secret[KEY_SECRET], link[400];
    struct err err = { 0 };

    if (!login_invite(http_api_login(n->http_api), STR(""), secret, &err)) {
        if (err.kind != ERR_NONE)
            log_event(LOG_WARN, "login.trouble", kv_z("why", err.text));
        return;
    }
    if (host[0] == '\0' || str_is(str_of(host), "*") || str_is(str_of(host), "0.0.0.0") ||
        str_is(str_of(host), "::"))
        host = "localhost";
    bool v6 = strchr(host, ':') != NULL;

    (void)snprintf(link, sizeof link, "%s://%s%s%s:%u/login/%s", n->tls != NULL ? "https" : "http",
                   v6 ? "[" : "", host, v6 ? "]" : "", http_server_port(n->server), secret);
    log_event(
        LOG_INFO, "login.first", kv_z("link", link),
        kv_z("hint", "Open it to make the first user, who may do everything. It works once."));
    if (isatty(STDERR_FILENO))
        (void)fprintf(stderr, "\nNobody can log in yet.  Make the first user:\n  %s\n\n", link);
}

/* The store is closed; a thread that hangs could wake up in exit(). */
static int leave(int code, size_t hanging)
{
    if (hanging > 0)
        _exit(code);
    return code;
}

/* The warnings of the node section; those of the version that runs are logged when it is put into
 * force. */
static void say_node_warnings(const struct node *n, const struct problem_list *warnings)
{
    const struct yaml_node *own = yaml_get(n->config->root, "node");
    unsigned first = own != NULL ? own->key->place.line : 1;
    unsigned end = own == NULL ? 0 : own->next != NULL ? own->next->key->place.line : UINT_MAX;

    for (size_t i = 0; i < warnings->count; i++) {
        const struct problem *p = &warnings->items[i];

        if (p->place.line >= first && p->place.line < end)
            log_event(LOG_WARN, "config.warn", kv_z("what", p->message),
                      kv_int("line", p->place.line), kv_z("hint", p->hint));
    }
    if (geteuid() == 0)
        log_event(LOG_WARN, "node.warn", kv_z("what", "the node runs as root"),
                  kv_z("hint", "A user of its own limits what a mistake can reach: see "
                               "docs/security.md."));
}

/* Starts the process that starts others; those that are connections to databases may write where
 * the node may, but not in its data folder. */
static bool prepare_processes(const struct node *n, struct err *err)
{
    AUTO(reach_done) struct reach reach = REACH_INIT;

    reach_collect_folders(&reach, n->config);
    const char **folders = ARENA_ARRAY(&reach.arena, const char *, reach.count + 1);
    size_t count = 0;

    for (size_t i = 0; i < reach.count; i++)
        if (reach.rules[i].access == CONFINE_WRITE)
            folders[count++] = reach.rules[i].path;
    if (n->unconfined)
        folders[0] = "/", count = 1;
    sql_file_prepare(n->config->node.data, n->config->folders);
    return cage_prepare(folders, count, err);
}

static int serve(struct node *n)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct confined confined = { 0 };
    struct err err = { 0 };

    if (!read_config(n, &report))
        return EXIT_NO;
    if (!prepare_processes(n, &err)) /* while the node may execute anything */
        return cmd_serve_say("the node did not start", &err, EXIT_NO);
    if (!n->unconfined)
        confine_node(n->config, buf_view(&n->text), &confined); /* before the first thread */
    log_set_level(log_levels[n->config->node.log]);
    log_start(STDERR_FILENO);
    confine_node_say(&confined);
    say_node_warnings(n, &report.warnings);
    if (!cmd_serve_start(n, &err)) {
        size_t hang = cmd_serve_stop(n);

        log_stop();
        int code = err.kind == ERR_NONE
                       ? EXIT_DONE
                       : cmd_serve_say("the node did not start", &err,
                                       err.kind == ERR_TRANSIENT ? EXIT_UNREACHABLE : EXIT_NO);

        return leave(code, hang);
    }
    say_first(n);
    say_ready(n);
    for (;;) {
        int sig = sigwaitinfo(&n->signals, NULL);

        if (sig == SIGHUP)
            reload(n);
        else if (sig == SIGTERM || sig == SIGINT)
            break;
    }
    log_event(LOG_INFO, "node.stop");
    size_t lost = cmd_serve_stop(n);

    log_event(LOG_INFO, "node.stopped", kv_int("hanging", (int64_t)lost));
    log_stop();
    return leave(EXIT_DONE, lost);
}

int cmd_serve(int argc, char **argv)
{
    struct node n = { .file = "waybill.yaml",
                      .text = BUF_INIT(TEXT_MOST),
                      .data_path = BUF_INIT(4096) };

    for (int i = 1; i < argc; i++) {
        if (str_is(str_of(argv[i]), "-c") && i + 1 < argc) {
            n.file = argv[++i];
        } else if (str_is(str_of(argv[i]), "--apply")) {
            n.apply = true;
        } else if (str_is(str_of(argv[i]), "--yes")) {
            n.yes = true;
        } else if (str_is(str_of(argv[i]), "--unconfined")) {
            n.unconfined = true;
        } else {
            (void)fprintf(stderr,
                          "waybill serve: `%s` is not understood\n"
                          "usage: waybill serve [-c FILE] [--apply] [--yes] [--unconfined]\n",
                          argv[i]);
            return EXIT_USAGE;
        }
    }
    if (sodium_init() < 0)
        return EXIT_NO;
    (void)umask(077);
    (void)sigemptyset(&n.signals);
    (void)sigaddset(&n.signals, SIGTERM);
    (void)sigaddset(&n.signals, SIGINT);
    (void)sigaddset(&n.signals, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &n.signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    return serve(&n);
}

int cmd_fault_points(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    for (int i = 0; i < FAULT_COUNT; i++)
        (void)printf("%s\t%s\n", fault_name((enum fault_id)i), fault_what((enum fault_id)i));
    return EXIT_DONE;
}
