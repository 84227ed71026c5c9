/* http_echo.c - the HTTP server alone: reads every body, answers 202, stores nothing.
 *
 *     bench_http_echo PORT [LOOPS [CERT KEY]]
 *
 * Runs until SIGTERM or SIGINT and prints its counters then.  Compare the CPU time
 * of the process (/proc/PID/stat) with the number of requests.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/http_server.h"

static const struct str answer = { "{\"document\":\"0193a5b0-0000-7000-8000-000000000000\"}", 51 };
static const struct str location = {
    "Location: /documents/0193a5b0-0000-7000-8000-000000000000\r\n", 59
};

static void on_head(struct http_request *r, void *arg)
{
    (void)arg;
    http_read_body(r);
}

static void on_body(struct http_request *r, struct str bytes)
{
    (void)r;
    (void)bytes;
}

static void on_end(struct http_request *r)
{
    http_answer(r, 202, location, STR("application/json"), answer);
}

static void on_gone(struct http_request *r)
{
    (void)r;
}

static const struct http_handler handler = {
    .head = on_head, .body = on_body, .end = on_end, .gone = on_gone
};

static bool serve(uint16_t port, size_t n, struct tls_context *tls, struct err *err)
{
    struct loop *loops[16];
    struct http_server *s;
    struct http_server_options o = { .host = "127.0.0.1",
                                     .port = port,
                                     .tls = tls,
                                     .handler = &handler,
                                     .limits = HTTP_LIMITS_DEFAULT };
    struct http_stats got;
    sigset_t quit;
    int sig;

    for (size_t i = 0; i < n; i++)
        if (!loop_start("io", &loops[i], err))
            return false;
    if (!http_server_start(&o, loops, n, &s, err))
        return false;
    fprintf(stderr, "port %d\n", http_server_port(s));
    (void)sigemptyset(&quit);
    (void)sigaddset(&quit, SIGTERM);
    (void)sigaddset(&quit, SIGINT);
    (void)sigwait(&quit, &sig);
    http_server_stats(s, &got);
    fprintf(stderr, "requests %llu connections %llu in %llu out %llu\n",
            (unsigned long long)got.requests, (unsigned long long)got.accepted,
            (unsigned long long)got.bytes_in, (unsigned long long)got.bytes_out);
    http_server_stop(s, 1000);
    http_server_free(s);
    for (size_t i = 0; i < n; i++)
        loop_stop(loops[i]);
    return true;
}

int main(int argc, char **argv)
{
    struct tls_context *tls = NULL;
    struct err err = { 0 };
    sigset_t quit;
    uint64_t port = 0, n = 1;

    if (argc < 2 || !str_to_u64(str_of(argv[1]), &port) || port > UINT16_MAX ||
        (argc > 2 && !str_to_u64(str_of(argv[2]), &n)) || n < 1 || n > 16) {
        fprintf(stderr, "usage: %s PORT [LOOPS [CERT KEY]]\n", argv[0]);
        return 2;
    }
    (void)sigemptyset(&quit);
    (void)sigaddset(&quit, SIGTERM);
    (void)sigaddset(&quit, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &quit, NULL);
    if ((argc > 4 && !tls_context_open(argv[3], argv[4], &tls, &err)) ||
        !serve((uint16_t)port, (size_t)n, tls, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    tls_context_close(tls);
    return 0;
}
