/* http_fixture.h - a server whose handler does what the path says, and a client
 * of plain sockets; for the tests of http_server.
 *
 *     /echo      read the body, answer it
 *     /early     401 in head, the body unread
 *     /delay     the same, after a delay
 *     /park      read the body; answered, paused, resumed... by act()
 *     /decide    like /park, but the body is not read before act()
 *     /stream    16 MiB in pieces of unknown length
 *     /sized     16 MiB in pieces of known length
 *     /fields    what the server saw of the head
 *     /bare      204
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/http_server.h"
#include "http_methods.h"
#include "test.h"

#pragma GCC diagnostic ignored "-Wunused-function" /* each test uses some of it */

enum { STREAM_BYTES = 16 << 20, STREAM_PIECE = 40000 };

static atomic_int fx_heads, fx_pieces, fx_ends, fx_gones, fx_drains, fx_stalls, fx_live;
static _Atomic(struct http_request *) fx_parked;

struct fx_call {
    struct buf body;
    size_t sent;
};

static bool fx_await(atomic_int *what, int value)
{
    for (int i = 0; i < 30000 && atomic_load(what) < value; i++)
        clock_sleep_us(1000);
    return atomic_load(what) >= value;
}

/* The client may see the last byte before the handler lets go. */
static bool fx_await_none(void)
{
    for (int i = 0; i < 30000 && atomic_load(&fx_live) > 0; i++)
        clock_sleep_us(1000);
    return atomic_load(&fx_live) == 0;
}

static bool fx_await_parked(void)
{
    for (int i = 0; i < 30000 && atomic_load(&fx_parked) == NULL; i++)
        clock_sleep_us(1000);
    return atomic_load(&fx_parked) != NULL;
}

static void fx_drop(struct http_request *r)
{
    struct fx_call *call = r->user;

    buf_done(&call->body);
    free(call);
    atomic_fetch_sub(&fx_live, 1);
    if (atomic_load(&fx_parked) == r)
        atomic_store(&fx_parked, NULL);
}

static void fx_pump(struct http_request *r)
{
    struct fx_call *call = r->user;
    char piece[STREAM_PIECE];
    size_t n;

    do {
        n = STREAM_BYTES - call->sent < sizeof piece ? STREAM_BYTES - call->sent : sizeof piece;
        for (size_t i = 0; i < n; i++)
            piece[i] = (char)('a' + (call->sent + i) % 23);
        call->sent += n;
    } while (n > 0 && http_answer_bytes(r, str_mem(piece, n)));
    if (n > 0) {
        atomic_fetch_add(&fx_stalls, 1);
        return;
    }
    fx_drop(r);
    http_answer_end(r);
}

static void fx_fields(struct http_request *r)
{
    struct buf b = BUF_INIT(1 << 16);
    struct str name, value;

    buf_printf(&b, "%s %.*s ?%.*s from %.*s%s\n", http_methods[r->method], STR_ARG(r->path),
               STR_ARG(r->query), STR_ARG(http_peer(r)), http_is_tls(r) ? " tls" : "");
    for (size_t i = 0; http_field_at(r, i, &name, &value); i++)
        buf_printf(&b, "%.*s=%.*s\n", STR_ARG(name), STR_ARG(value));
    fx_drop(r);
    http_answer(r, 200, STR("X-Own: yes\r\n"), STR("text/plain"), buf_view(&b));
    buf_done(&b);
}

static void fx_head(struct http_request *r, void *arg)
{
    struct fx_call *call = NEW(struct fx_call);

    (void)arg;
    call->body = (struct buf)BUF_INIT(32 << 20);
    r->user = call;
    atomic_fetch_add(&fx_live, 1);
    atomic_fetch_add(&fx_heads, 1);
    if (str_is(r->path, "/early")) {
        fx_drop(r);
        http_answer_error(r, 401, STR("WWW-Authenticate: Bearer\r\n"), "unauthorized",
                          "no \"key\"");
    } else if (str_is(r->path, "/delay"))
        http_delay(r);
    else if (str_is(r->path, "/decide"))
        atomic_store(&fx_parked, r);
    else
        http_read_body(r);
}

static void fx_delayed(struct http_request *r)
{
    fx_drop(r);
    http_answer_error(r, 429, STR(""), "too_often", "slowly");
}

static void fx_body(struct http_request *r, struct str bytes)
{
    struct fx_call *call = r->user;

    atomic_fetch_add(&fx_pieces, 1);
    buf_put(&call->body, bytes);
    if (str_is(r->path, "/park") && atomic_load(&fx_parked) == NULL) {
        http_pause(r);
        atomic_store(&fx_parked, r);
    }
}

static void fx_end(struct http_request *r)
{
    struct fx_call *call = r->user;

    atomic_fetch_add(&fx_ends, 1);
    if (str_is(r->path, "/park") || str_is(r->path, "/decide"))
        atomic_store(&fx_parked, r);
    else if (str_is(r->path, "/stream") || str_is(r->path, "/sized")) {
        http_answer_start(r, 200, STR(""), STR("text/plain"),
                          str_is(r->path, "/sized") ? STREAM_BYTES : -1);
        fx_pump(r);
    } else if (str_is(r->path, "/fields"))
        fx_fields(r);
    else if (str_is(r->path, "/bare")) {
        fx_drop(r);
        http_answer(r, 204, STR(""), STR(""), STR(""));
    } else {
        struct buf body = call->body;

        call->body = (struct buf)BUF_INIT(1);
        fx_drop(r);
        http_answer(r, 200, STR(""), STR("text/plain"), buf_view(&body));
        buf_done(&body);
    }
}

static void fx_gone(struct http_request *r)
{
    fx_drop(r);
    atomic_fetch_add(&fx_gones, 1);
}

static void fx_drained(struct http_request *r)
{
    atomic_fetch_add(&fx_drains, 1);
    fx_pump(r);
}

static const struct http_handler fx_handler = { .head = fx_head,
                                                .body = fx_body,
                                                .end = fx_end,
                                                .delayed = fx_delayed,
                                                .gone = fx_gone,
                                                .drained = fx_drained };

/* ---- doing something to the parked request, on its loop ---- */

enum fx_what { FX_ANSWER, FX_READ, FX_RESUME, FX_START, FX_ABORT, FX_BYTES };

struct fx_act {
    struct loop_msg msg;
    enum fx_what what;
    atomic_int done;
};

static void fx_on_act(struct loop_msg *m)
{
    struct fx_act *a = (struct fx_act *)m;
    struct http_request *r = atomic_load(&fx_parked);

    if (r != NULL) {
        if (a->what == FX_READ)
            http_read_body(r);
        else if (a->what == FX_RESUME)
            http_resume(r);
        else if (a->what == FX_START)
            http_answer_start(r, 200, STR(""), STR("text/event-stream"), -1);
        else if (a->what == FX_BYTES)
            (void)http_answer_bytes(r, STR("data: x\n\n"));
        else {
            fx_drop(r);
            if (a->what == FX_ABORT)
                http_answer_abort(r);
            else
                http_answer(r, 202, STR(""), STR("text/plain"), STR("parked"));
        }
    }
    atomic_store(&a->done, 1);
}

static void fx_do(struct loop *l, enum fx_what what)
{
    struct fx_act a = { .msg.fn = fx_on_act, .what = what };

    loop_post(l, &a.msg);
    (void)fx_await(&a.done, 1);
}

/* ---- server and client ---- */

struct fx {
    struct loop *loops[2];
    size_t loop_count;
    struct http_server *server;
    uint16_t port;
};

/* Of the next server. */
static bool (*fx_reserved)(void *arg, struct str path);
static struct memory_share *fx_memory;
static struct network fx_trust;
static size_t fx_trust_count;

static bool fx_start(struct fx *f, size_t loops, const struct http_limits *limits,
                     struct tls_context *tls)
{
    struct http_server_options o = { .host = "127.0.0.1",
                                     .handler = &fx_handler,
                                     .limits = *limits,
                                     .tls = tls,
                                     .is_reserved = fx_reserved,
                                     .memory = fx_memory,
                                     .trust = &fx_trust,
                                     .trust_count = fx_trust_count };
    struct err err = { 0 };

    atomic_store(&fx_heads, 0);
    atomic_store(&fx_pieces, 0);
    atomic_store(&fx_ends, 0);
    atomic_store(&fx_gones, 0);
    atomic_store(&fx_drains, 0);
    atomic_store(&fx_stalls, 0);
    atomic_store(&fx_parked, NULL);
    for (f->loop_count = 0; f->loop_count < loops; f->loop_count++)
        if (!loop_start("io", &f->loops[f->loop_count], &err))
            return false;
    if (!http_server_start(&o, f->loops, loops, &f->server, &err)) {
        printf("# %s\n", err.text);
        return false;
    }
    f->port = http_server_port(f->server);
    return true;
}

/* Of a server that has stopped. */
static void fx_free(struct fx *f)
{
    http_server_free(f->server);
    for (size_t i = 0; i < f->loop_count; i++)
        loop_stop(f->loops[i]);
    *f = (struct fx){ 0 };
}

static void fx_stop(struct fx *f, uint32_t grace_ms)
{
    http_server_stop(f->server, grace_ms);
    fx_free(f);
}

/* What a test that failed leaves would go on in the next ones. */
static void fx_done(struct fx *f)
{
    if (f->server != NULL)
        http_server_stop(f->server, 0);
    fx_free(f);
}

static uint64_t fx_refused(const struct fx *f, enum http_refusal why)
{
    struct http_stats s;

    http_server_stats(f->server, &s);
    return s.refused[why];
}

struct client {
    int fd;
    struct buf in; /* read and not used */
    int status;
    bool closed; /* the server closed */
    struct buf head, body;
};

static void client_done(struct client *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
    buf_done(&c->in);
    buf_done(&c->head);
    buf_done(&c->body);
}

/* From 127.0.0.LAST. */
static struct client client_open_from(uint16_t port, unsigned last)
{
    struct client c = { .in = BUF_INIT(64 << 20),
                        .head = BUF_INIT(1 << 20),
                        .body = BUF_INIT(64 << 20) };
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in from = { .sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + last) };
    int one = 1;

    c.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    /* A bound socket keeps its port from all others, so the usual address is left to connect(). */
    if ((last != 1 && bind(c.fd, (struct sockaddr *)&from, sizeof from) < 0) ||
        connect(c.fd, (struct sockaddr *)&a, sizeof a) < 0) {
        (void)close(c.fd);
        c.fd = -1;
    }
    return c;
}

static struct client client_open(uint16_t port)
{
    return client_open_from(port, 1);
}

static bool client_send(struct client *c, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = send(c->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

        if (n < 0)
            return false;
        bytes = str_from(bytes, (size_t)n);
    }
    return true;
}

static bool client_say(struct client *c, const char *z)
{
    return client_send(c, str_of(z));
}

/* More bytes into c->in; false at the end or after half a minute. */
static bool client_more(struct client *c)
{
    struct pollfd p = { .fd = c->fd, .events = POLLIN };
    struct err err;
    ssize_t n = -1;

    if (poll(&p, 1, 30000) != 1 || !buf_reserve(&c->in, 1 << 16, &err))
        return false;
    n = recv(c->fd, c->in.ptr + c->in.len, 1 << 16, 0);
    if (n <= 0) {
        c->closed = true;
        return false;
    }
    c->in.len += (size_t)n;
    return true;
}

static void client_use(struct client *c, size_t n, struct buf *to)
{
    buf_put(to, (struct str){ c->in.ptr, n });
    memmove(c->in.ptr, c->in.ptr + n, c->in.len - n);
    c->in.len -= n;
}

static bool client_use_line(struct client *c, const char *end, struct buf *to)
{
    const char *at;

    while ((at = memmem(c->in.ptr, c->in.len, end, strlen(end))) == NULL)
        if (!client_more(c))
            return false;
    client_use(c, (size_t)(at - c->in.ptr) + strlen(end), to);
    return true;
}

static bool client_use_bytes(struct client *c, size_t n, struct buf *to)
{
    while (c->in.len < n)
        if (!client_more(c))
            return false;
    client_use(c, n, to);
    return true;
}

static bool client_use_chunks(struct client *c)
{
    for (;;) {
        AUTO(buf_done) struct buf line = BUF_INIT(1 << 16);
        AUTO(buf_done) struct buf crlf = BUF_INIT(16);

        if (!client_use_line(c, "\r\n", &line))
            return false;
        size_t n = strtoul(line.ptr, NULL, 16);

        if (!client_use_bytes(c, n, &c->body) || !client_use_bytes(c, 2, &crlf))
            return false;
        if (n == 0)
            return true;
    }
}

/* One answer: status, head and body; without_body for HEAD. */
static bool client_read(struct client *c, bool without_body)
{
    buf_clear(&c->head);
    buf_clear(&c->body);
    c->status = 0;
    if (!client_use_line(c, "\r\n\r\n", &c->head) || c->head.len < 12)
        return false;
    c->status = (int)strtol(c->head.ptr + 9, NULL, 10);
    const char *length = strcasestr(c->head.ptr, "\r\nContent-Length: ");

    if (c->status < 200 || c->status == 204 || without_body)
        return true;
    if (length != NULL)
        return client_use_bytes(c, strtoul(length + 18, NULL, 10), &c->body);
    if (strcasestr(c->head.ptr, "\r\nTransfer-Encoding: chunked") != NULL)
        return client_use_chunks(c);
    while (client_more(c))
        ;
    client_use(c, c->in.len, &c->body);
    return true;
}

static bool client_is(struct client *c, int status, const char *body)
{
    if (!client_read(c, false) || c->status != status || !str_is(buf_view(&c->body), body)) {
        printf("# got %d %.*s, want %d %s\n", c->status, STR_ARG(buf_view(&c->body)), status, body);
        return false;
    }
    return true;
}

static bool client_has(struct client *c, const char *in_head)
{
    return memmem(c->head.ptr, c->head.len, in_head, strlen(in_head)) != NULL;
}

/* Nothing more comes, and the server has closed. */
static bool client_ended(struct client *c)
{
    while (client_more(c))
        ;
    return c->closed && c->in.len == 0;
}
