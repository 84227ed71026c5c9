#include "base/http_conn.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"

enum { SILENT_LOOKS = 64 }; /* connections that are looked at to find a silent one */

static const struct http_limits *limits_of(const struct http_conn *c)
{
    return &c->io->server->o.limits;
}

static const struct http_handler *handler_of(const struct http_conn *c)
{
    return c->io->server->o.handler;
}

/* ---- deadlines ---- */

static void unlink_deadline(struct deadline *d)
{
    d->prev->next = d->next;
    d->next->prev = d->prev;
}

static uint32_t wait_ms(const struct http_limits *l, enum wait what)
{
    switch (what) {
    case WAIT_HANDSHAKE:
        return l->handshake_ms;
    case WAIT_IDLE:
        return l->idle_ms;
    case WAIT_HEAD:
        return l->head_ms;
    case WAIT_LINGER:
        return l->linger_ms;
    case WAIT_BODY:
    case WAIT_SEND:
        return l->rate_window_ms;
    case WAIT_DELAY:
        return l->delay_ms;
    case WAIT_NONE:
    case WAITS:
        break;
    }
    return 0;
}

static void link_deadline(struct http_conn *c, struct deadline *d, enum wait what)
{
    struct deadline *ring = &c->io->waits[what];

    d->at_ms = uv_now(loop_uv(c->io->loop)) + wait_ms(limits_of(c), what);
    d->next = ring;
    d->prev = ring->prev;
    ring->prev->next = d;
    ring->prev = d;
}

static void conn_wait(struct http_conn *c, enum wait what)
{
    if (c->read_wait != WAIT_NONE)
        unlink_deadline(&c->read_dl);
    c->read_wait = (uint8_t)what;
    if (what == WAIT_BODY)
        c->window_in = 0;
    if (what != WAIT_NONE)
        link_deadline(c, &c->read_dl, what);
}

void conn_wait_send(struct http_conn *c, bool on)
{
    if (c->write_wait != WAIT_NONE)
        unlink_deadline(&c->write_dl);
    c->write_wait = on ? WAIT_SEND : WAIT_NONE;
    if (on) {
        c->window_out = conn_written(c);
        link_deadline(c, &c->write_dl, WAIT_SEND);
    }
}

void conn_wait_delay(struct http_conn *c, bool on)
{
    if (c->delaying)
        unlink_deadline(&c->delay_dl);
    c->delaying = on;
    if (on)
        link_deadline(c, &c->delay_dl, WAIT_DELAY);
}

/* ---- memory ---- */

static void note_heads(struct http_io *io, int64_t bytes)
{
    io->heads_untold += bytes;
    if (io->heads_untold > HTTP_HEADS_UNTOLD || io->heads_untold < -HTTP_HEADS_UNTOLD)
        io_tell_heads(io);
}

/* Small heads are never refused: who has no more to say than a probe is heard. */
static bool head_may_grow(struct http_parser *p, uint32_t more)
{
    struct http_io *io = container_of(p, struct request, parser)->conn->io;
    struct memory_share *memory = io->server->o.memory;

    if (p->head_size + more > HTTP_HEAD_KEEP && memory != NULL && memory_share_is_spent(memory))
        return false;
    note_heads(io, more);
    return true;
}

static int64_t request_memory(const struct request *r)
{
    return (int64_t)sizeof *r + r->parser.head_size;
}

/* ---- requests ---- */

static struct request *request_take(struct http_conn *c)
{
    struct http_io *io = c->io;
    struct request *r = io->free_requests;

    if (r != NULL) {
        io->free_requests = r->next_free;
        io->free_count--;
    } else {
        r = xmalloc(sizeof *r);
        http_parser_init(&r->parser, &io->server->o.limits.head);
        r->parser.may_grow = head_may_grow;
    }
    memset(r, 0, offsetof(struct request, parser));
    r->conn = c;
    note_heads(io, request_memory(r));
    if (c->read_wait == WAIT_IDLE)
        conn_wait(c, WAIT_NONE); /* begins anew after the answer */
    return r;
}

void request_release(struct request *r)
{
    struct http_io *io = r->conn->io;

    conn_wait_delay(r->conn, false);
    r->conn->req = NULL;
    note_heads(io, -request_memory(r));
    if (io->free_count == HTTP_FREE_REQUESTS) {
        http_parser_done(&r->parser);
        free(r);
        return;
    }
    http_parser_reset(&r->parser);
    r->next_free = io->free_requests;
    io->free_requests = r;
    io->free_count++;
}

/* The request waits for its handler, not for bytes. */
static bool held(const struct request *r)
{
    if (!r->told)
        return false;
    if (r->complete)
        return true;
    if (r->answer != ANSWER_NONE)
        return r->answer == ANSWER_STREAM && r->close;
    return !r->reading || r->paused;
}

static bool handler_reserves(const struct http_conn *c, struct str path)
{
    const struct http_server_options *o = &c->io->server->o;

    return o->is_reserved != NULL && o->is_reserved(o->arg, path);
}

static void conn_refuse_overload(struct http_conn *c)
{
    if (c->crowded)
        conn_refuse(c, HTTP_REFUSED_CROWD, 503, "too_many_connections",
                    "too many connections from your address; try again later");
    else
        conn_refuse(c, HTTP_REFUSED_OVERLOAD, 503, "too_many_connections",
                    "too many connections; try again later");
}

static void tell_head(struct http_conn *c, struct request *r)
{
    const struct http_parser *p = &r->parser;
    uint32_t most = limits_of(c)->conn_requests;

    r->pub.method = p->method;
    r->pub.chunked = p->chunked;
    r->pub.content_length = p->content_length;
    r->pub.received_us = clock_wall_us();
    r->pub.path = p->path.len > 0 ? http_parser_view(p, p->path) : STR("/");
    r->pub.query = http_parser_view(p, p->query);
    r->pub.authorization = http_parser_known(p, HTTP_AUTHORIZATION);
    r->pub.idempotency_key = http_parser_known(p, HTTP_IDEMPOTENCY_KEY);
    r->pub.content_type = http_parser_known(p, HTTP_CONTENT_TYPE);
    r->pub.range = http_parser_known(p, HTTP_RANGE);
    if (c->refusing && !handler_reserves(c, r->pub.path)) {
        conn_refuse_overload(c);
        return;
    }
    r->told = true;
    r->no_body = p->method == HTTP_METHOD_HEAD;
    c->requests++;
    r->close = !p->keep_alive || c->refusing || (most > 0 && c->requests >= most);
    http_count(&c->io->counters.requests, 1);
    handler_of(c)->head(&r->pub, c->io->server->o.arg);
}

static void refuse_bad(struct http_conn *c, const struct http_parser *p)
{
    enum http_refusal why = HTTP_REFUSED_BAD;

    if (p->status == 414 || p->status == 431)
        why = HTTP_REFUSED_HEAD_SIZE;
    else if (p->status == 501)
        why = HTTP_REFUSED_NOT_IMPLEMENTED;
    else if (p->status == 417)
        why = HTTP_REFUSED_EXPECTATION;
    else if (p->status == 503)
        why = HTTP_REFUSED_MEMORY;
    conn_refuse(c, why, p->status, p->code, p->message);
}

static void dispatch(struct http_conn *c, struct request *r, enum http_event e, struct str piece)
{
    switch (e) {
    case HTTP_HEAD_DONE:
        tell_head(c, r);
        break;
    case HTTP_BODY_PIECE:
        if (r->answer == ANSWER_NONE)
            handler_of(c)->body(&r->pub, piece);
        break;
    case HTTP_END:
        r->complete = true;
        if (r->answer == ANSWER_NONE)
            handler_of(c)->end(&r->pub);
        else if (r->answer == ANSWER_DONE)
            request_finish(r);
        break;
    case HTTP_BAD:
        refuse_bad(c, &r->parser);
        break;
    case HTTP_MORE:
        break;
    }
}

/* Parses and calls the handler until the bytes are used up or the request waits for
 * its handler.  Returns the unused bytes. */
static struct str http_conn_run(struct http_conn *c, struct str in)
{
    c->running = true;
    while (!c->doomed && !c->ending) {
        struct str piece = { 0 };

        if (c->req == NULL) {
            /* The next request starts only when the last answer was sent. */
            if (in.len == 0 || c->out_pending > 0)
                break;
            c->req = request_take(c);
        }
        if (held(c->req))
            break;
        enum http_event e = http_parser_next(&c->req->parser, &in, &piece);

        if (e == HTTP_MORE)
            break;
        dispatch(c, c->req, e, piece);
    }
    c->running = false;
    if (c->doomed || c->ending) {
        c->clean = c->clean && in.len == 0;
        in.len = 0;
    }
    return in;
}

/* ---- going on ---- */

static void http_conn_on_closed(uv_handle_t *h)
{
    struct http_conn *c = h->data;

    require(c->magic == HTTP_CONN_MAGIC);
    tls_conn_free(c->tls);
    c->magic = 0;
    io_conn_closed(c->io, c);
    free(c);
}

static void conn_close(struct http_conn *c)
{
    c->closing = true;
    if (c->req != NULL) {
        if (c->req->told && c->req->answer != ANSWER_DONE)
            handler_of(c)->gone(&c->req->pub);
        request_release(c->req);
    }
    conn_wait(c, WAIT_NONE);
    conn_wait_send(c, false);
    note_heads(c->io, -(int64_t)c->rest_len);
    free(c->rest);
    c->rest = NULL;
    c->rest_len = 0;
    uv_close((uv_handle_t *)&c->tcp, http_conn_on_closed);
}

static void conn_wake(struct loop_msg *m)
{
    struct http_conn *c = container_of(m, struct http_conn, wake);

    require(c->magic == HTTP_CONN_MAGIC);
    c->scheduled = false;
    if (c->closing)
        return;
    if (c->doomed) {
        conn_close(c);
        return;
    }
    char *mem = c->rest;
    size_t had = c->rest_len;
    struct str left = { mem, had };

    c->rest = NULL;
    c->rest_len = 0;
    left = http_conn_run(c, left);
    if (left.len != had)
        note_heads(c->io, (int64_t)left.len - (int64_t)had);
    if (left.len > 0) {
        memmove(mem, left.ptr, left.len);
        c->rest = mem;
        c->rest_len = left.len;
    } else
        free(mem);
    conn_settle(c);
}

void conn_schedule(struct http_conn *c)
{
    if (c->scheduled || c->closing)
        return;
    c->scheduled = true;
    loop_defer(c->io->loop, &c->wake);
}

void conn_doom(struct http_conn *c)
{
    c->doomed = true;
    conn_schedule(c);
}

/* The client has closed its side; true: the connection ends. */
static bool over_by_eof(struct http_conn *c)
{
    struct request *r = c->req;

    if (c->lingering || c->shaking || (r == NULL && c->rest_len == 0 && c->out_pending == 0) ||
        (r != NULL && !held(r))) {
        conn_doom(c);
        return true;
    }
    if (r == NULL)
        return false;
    if (r->answer == ANSWER_STREAM && r->out_left < 0) { /* (4) of http_server.h */
        conn_doom(c);
        return true;
    }
    r->close = r->close || r->complete;
    return false;
}

static void settle_wait(struct http_conn *c)
{
    const struct request *r = c->req;

    if (c->shaking || c->lingering)
        return;
    if (r == NULL && !c->ending && c->rest_len == 0) {
        /* Before its first request a connection has the time of a head, and no more.  What is not
         * the beginning of a request, such as a key update of TLS, does not prolong either. */
        enum wait what = c->requests > 0 ? WAIT_IDLE : WAIT_HEAD;

        if (c->read_wait != what)
            conn_wait(c, what);
        if (c->tls != NULL)
            tls_trim(c->tls);
    } else if (r == NULL || held(r)) {
        if (c->read_wait != WAIT_NONE)
            conn_wait(c, WAIT_NONE);
    } else {
        enum wait what = r->told ? WAIT_BODY : WAIT_HEAD;

        if (c->read_wait != what)
            conn_wait(c, what);
    }
}

static void alloc_buf(uv_handle_t *h, size_t size, uv_buf_t *buf)
{
    const struct http_conn *c = h->data;

    (void)size;
    *buf = uv_buf_init(c->io->read_buf, HTTP_READ_BUF);
}

static void http_conn_on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf);

static void settle_reading(struct http_conn *c)
{
    /* A client that does not read its answers is not read from.  Input that is no request can
     * cause output too: TLS answers by itself. */
    bool want = !c->eof && c->rest_len == 0 && c->out_pending < HTTP_OUT_HIGH;

    if (want == c->reading)
        return;
    c->reading = want;
    if (!want)
        (void)uv_read_stop((uv_stream_t *)&c->tcp);
    else if (uv_read_start((uv_stream_t *)&c->tcp, alloc_buf, http_conn_on_read) < 0)
        conn_doom(c);
}

/* The output is sent and the connection is not needed any more: shut down our side.  If
 * the client may still be sending, linger: closing with unread input would make the
 * kernel reset the connection and destroy the answer on its way. */
static void http_conn_settle_end(struct http_conn *c)
{
    uv_os_fd_t fd;

    if (c->tls != NULL && !c->said_bye) {
        c->said_bye = true;
        tls_finish(c->tls);
        conn_flush_tls(c);
        if (c->out_pending > 0)
            return;
    }
    if (c->clean || c->eof || uv_fileno((uv_handle_t *)&c->tcp, &fd) < 0 ||
        shutdown(fd, SHUT_WR) < 0) {
        conn_doom(c);
        return;
    }
    c->lingering = true;
    conn_wait(c, WAIT_LINGER);
}

void conn_settle(struct http_conn *c)
{
    if (c->doomed || c->closing || c->running)
        return;
    if (c->ending && c->out_pending == 0 && !c->lingering)
        http_conn_settle_end(c);
    if (c->doomed || (c->eof && over_by_eof(c)))
        return;
    if (c->io->stopping && c->req == NULL && !c->ending && c->out_pending == 0) {
        conn_doom(c);
        return;
    }
    settle_wait(c);
    settle_reading(c);
}

/* ---- input ---- */

static void keep_rest(struct http_conn *c, struct str bytes)
{
    require(c->rest_len + bytes.len <= 4 * (size_t)HTTP_READ_BUF); /* (3) */
    c->rest = xrealloc(c->rest, c->rest_len + bytes.len);
    memcpy(c->rest + c->rest_len, bytes.ptr, bytes.len);
    c->rest_len += bytes.len;
    note_heads(c->io, (int64_t)bytes.len);
}

static void input(struct http_conn *c, struct str bytes)
{
    if (c->doomed)
        return;
    if (c->ending) {
        c->clean = false;
        c->discarded += bytes.len;
        if (c->discarded > limits_of(c)->linger_bytes)
            conn_doom(c);
        return;
    }
    if (c->rest_len == 0)
        bytes = http_conn_run(c, bytes);
    if (bytes.len > 0)
        keep_rest(c, bytes);
}

/* Goes on with the handshake; true: it is done. */
static bool shake(struct http_conn *c)
{
    enum tls_result got = tls_handshake(c->tls);

    conn_flush_tls(c);
    if (got == TLS_MORE)
        return false;
    if (got != TLS_OK) {
        http_count(&c->io->counters.refused[HTTP_REFUSED_HANDSHAKE], 1);
        conn_doom(c);
        return false;
    }
    c->shaking = false;
    return true;
}

static void input_tls(struct http_conn *c, struct str wire)
{
    tls_feed(c->tls, wire);
    if (c->shaking && !shake(c))
        return;
    while (!c->doomed) {
        size_t n = 0;
        enum tls_result got = tls_read(c->tls, c->io->plain_buf, HTTP_READ_BUF, &n);

        if (got == TLS_OK) {
            input(c, str_mem(c->io->plain_buf, n));
            continue;
        }
        conn_flush_tls(c); /* an alert or a key update may have been written */
        if (got == TLS_TOO_OFTEN)
            http_count(&c->io->counters.refused[HTTP_REFUSED_KEY_UPDATES], 1);
        if (got == TLS_CLOSED)
            c->eof = true;
        else if (got == TLS_FAILED || got == TLS_TOO_OFTEN)
            conn_doom(c);
        return;
    }
}

static void http_conn_on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct http_conn *c = s->data;

    require(c->magic == HTTP_CONN_MAGIC);
    if (n == 0 || c->closing)
        return;
    if (n == UV_EOF) {
        c->eof = true;
        c->reading = false;
    } else if (n < 0) {
        c->reading = false;
        conn_doom(c);
    } else {
        struct str bytes = str_mem(buf->base, (size_t)n);

        c->window_in += bytes.len;
        http_count(&c->io->counters.bytes_in, bytes.len);
        if (c->tls != NULL)
            input_tls(c, bytes);
        else
            input(c, bytes);
    }
    conn_settle(c);
}

/* ---- too slow ---- */

static bool fast_enough(const struct http_conn *c, uint64_t moved)
{
    const struct http_limits *l = limits_of(c);

    return moved * 1000 >= (uint64_t)l->rate_bytes_s * l->rate_window_ms;
}

static void body_expired(struct http_conn *c)
{
    if (fast_enough(c, c->window_in)) {
        conn_wait(c, WAIT_BODY);
        return;
    }
    conn_wait(c, WAIT_NONE);
    conn_refuse(c, HTTP_REFUSED_SLOW_BODY, 408, "timeout", "the body comes too slowly");
}

static void send_expired(struct http_conn *c)
{
    if (fast_enough(c, conn_written(c) - c->window_out)) {
        conn_wait_send(c, true);
        return;
    }
    http_count(&c->io->counters.refused[HTTP_REFUSED_SLOW_READER], 1);
    conn_doom(c);
}

static void delay_expired(struct http_conn *c)
{
    conn_wait_delay(c, false);
    if (!c->doomed)
        handler_of(c)->delayed(&c->req->pub);
}

void conn_expired(struct deadline *d, enum wait what)
{
    struct http_conn *c = what == WAIT_SEND    ? container_of(d, struct http_conn, write_dl)
                          : what == WAIT_DELAY ? container_of(d, struct http_conn, delay_dl)
                                               : container_of(d, struct http_conn, read_dl);

    require(c->magic == HTTP_CONN_MAGIC);
    if (what == WAIT_DELAY) {
        delay_expired(c);
        return;
    }
    if (what == WAIT_SEND && !c->doomed)
        send_expired(c);
    if (c->doomed) { /* leave the lists now, close at the end of the round */
        conn_wait(c, WAIT_NONE);
        conn_wait_send(c, false);
    }
    if (c->doomed || what == WAIT_SEND)
        return;
    if (what == WAIT_BODY) {
        body_expired(c);
        return;
    }
    conn_wait(c, WAIT_NONE);
    if (what == WAIT_HEAD && c->req != NULL) {
        conn_refuse(c, HTTP_REFUSED_SLOW_HEAD, 408, "timeout", "the request comes too slowly");
        return;
    }
    if (what == WAIT_HANDSHAKE)
        http_count(&c->io->counters.refused[HTTP_REFUSED_HANDSHAKE], 1);
    if (what == WAIT_HEAD)
        http_count(&c->io->counters.refused[HTTP_REFUSED_SILENT], 1);
    conn_doom(c);
}

/* The first of a list that has sent nothing since its wait began.  Not one that is refused: it does
 * not count, so its end makes no room. */
static struct http_conn *first_silent(struct http_io *io, enum wait what,
                                      const struct network_address *from)
{
    int looks = SILENT_LOOKS;

    for (struct deadline *d = io->waits[what].next; d != &io->waits[what] && looks > 0;
         d = d->next) {
        struct http_conn *c = container_of(d, struct http_conn, read_dl);

        if (c->req == NULL && !c->doomed && !c->refusing &&
            (what != WAIT_HANDSHAKE || c->window_in == 0) &&
            (from == NULL || http_crowd_same(&c->from, from)))
            return c;
        looks--;
    }
    return NULL;
}

bool conn_evict_silent(struct http_io *io, const struct network_address *from)
{
    static const enum wait lists[] = { WAIT_IDLE, WAIT_HEAD, WAIT_HANDSHAKE };
    struct http_conn *oldest = NULL;
    uint64_t since = UINT64_MAX;

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct http_conn *c = first_silent(io, lists[i], from);
        uint64_t began =
            c != NULL ? c->read_dl.at_ms - wait_ms(&io->server->o.limits, lists[i]) : UINT64_MAX;

        if (began < since) {
            oldest = c;
            since = began;
        }
    }
    if (oldest == NULL)
        return false;
    http_count(&io->counters.refused[HTTP_REFUSED_SILENT], 1);
    conn_wait(oldest, WAIT_NONE); /* not a second time before it is closed */
    conn_doom(oldest);
    return true;
}

/* ---- the beginning ---- */

void conn_open(struct http_io *io, const struct http_guest *guest, const struct sockaddr *peer,
               socklen_t len)
{
    struct http_conn *c = NEW(struct http_conn);

    c->magic = HTTP_CONN_MAGIC;
    c->io = io;
    c->wake.fn = conn_wake;
    c->refusing = guest->refusing;
    c->crowded = guest->crowded;
    c->counted = guest->counted;
    c->from = guest->from;
    memcpy(&c->peer, peer, len < sizeof c->peer ? len : sizeof c->peer);
    require(uv_tcp_init(loop_uv(io->loop), &c->tcp) == 0);
    c->tcp.data = c;
    c->next = io->conns;
    if (c->next != NULL)
        c->next->prev = c;
    io->conns = c;
    io->conn_count++;
    io->refusing_count += c->refusing;
    http_count(&io->counters.open, 1);
    if (uv_tcp_open(&c->tcp, guest->fd) < 0) {
        (void)close(guest->fd);
        conn_doom(c);
        return;
    }
    if (c->refusing && io->server->o.is_reserved == NULL) {
        conn_refuse_overload(c);
        return;
    }
    if (io->server->o.tls != NULL) {
        c->tls = tls_accept(io->server->o.tls);
        c->shaking = true;
        conn_wait(c, WAIT_HANDSHAKE);
    }
    conn_settle(c);
}
