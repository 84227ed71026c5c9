#include "base/stream_conn.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/container_of.h"
#include "base/require.h"

/* A connection may be silent for days; the kernel notices when the other side is gone. */
enum { KEEP_IDLE_S = 60, KEEP_EVERY_S = 15, KEEP_TRIES = 4 };

static void stream_settle(struct stream_conn *c);

static const struct stream_limits *stream_limits_of(const struct stream_conn *c)
{
    return &c->io->server->o.limits;
}

static const struct stream_handler *stream_handler_of(const struct stream_conn *c)
{
    return c->io->server->o.handler;
}

static uint64_t now_ms(const struct stream_io *io)
{
    return uv_now(loop_uv(io->loop));
}

static void stream_schedule(struct stream_conn *c)
{
    if (c->scheduled || c->closing)
        return;
    c->scheduled = true;
    loop_defer(c->io->loop, &c->wake);
}

static void stream_doom(struct stream_conn *c)
{
    c->doomed = true;
    stream_schedule(c);
}

static void stream_refuse(struct stream_conn *c, enum stream_refusal why)
{
    if (!c->doomed)
        stream_server_count(c->io->server, why, &c->from);
    stream_doom(c);
}

/* ---- the end ---- */

static void stream_on_tick_closed(uv_handle_t *h)
{
    struct stream_io *io = h->data;

    free(io->read_buf);
    free(io->plain_buf);
    stream_io_ended(io);
}

void stream_io_end_if_done(struct stream_io *io)
{
    if (!io->stopping || io->ended || io->conn_count > 0 || io->handles > 0)
        return;
    io->ended = true;
    uv_close((uv_handle_t *)&io->tick, stream_on_tick_closed);
}

static void stream_on_closed(uv_handle_t *h)
{
    struct stream_conn *c = h->data;
    struct stream_io *io = c->io;

    require(c->magic == STREAM_CONN_MAGIC);
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        io->conns = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    io->conn_count--;
    atomic_fetch_sub_explicit(&io->server->connections, 1, memory_order_relaxed);
    tls_conn_free(c->tls);
    stream_policy_unref(c->policy);
    c->magic = 0;
    free(c);
    stream_io_end_if_done(io);
}

static void stream_close(struct stream_conn *c)
{
    c->closing = true;
    if (c->opened)
        stream_handler_of(c)->gone(c->user);
    c->opened = false;
    free(c->rest);
    c->rest = NULL;
    c->rest_len = 0;
    uv_close((uv_handle_t *)&c->tcp, stream_on_closed);
}

/* ---- output ---- */

struct stream_write {
    uv_write_t req;
    struct stream_conn *conn;
    size_t len;
    char bytes[];
};

static void stream_on_written(uv_write_t *req, int status)
{
    struct stream_write *w = container_of(req, struct stream_write, req);
    struct stream_conn *c = w->conn;

    c->out_pending -= w->len;
    free(w);
    if (c->closing)
        return;
    if (status < 0)
        stream_doom(c);
    if (c->out_pending == 0)
        c->own_at_ms = 0;
    stream_schedule(c);
}

static void stream_write_wire(struct stream_conn *c, struct str bytes)
{
    uv_buf_t buf = { .base = (char *)(uintptr_t)bytes.ptr, .len = bytes.len };
    int sent = c->out_pending == 0 ? uv_try_write((uv_stream_t *)&c->tcp, &buf, 1) : UV_EAGAIN;

    if (sent < 0 && sent != UV_EAGAIN) {
        stream_doom(c);
        return;
    }
    bytes = str_from(bytes, sent > 0 ? (size_t)sent : 0);
    if (bytes.len == 0)
        return;
    struct stream_write *w = xmalloc(sizeof *w + bytes.len);

    *w = (struct stream_write){ .conn = c, .len = bytes.len };
    memcpy(w->bytes, bytes.ptr, bytes.len);
    buf = uv_buf_init(w->bytes, (unsigned)bytes.len);
    if (uv_write(&w->req, (uv_stream_t *)&c->tcp, &buf, 1, stream_on_written) < 0) {
        free(w);
        stream_doom(c);
        return;
    }
    if (c->out_pending == 0)
        c->own_at_ms = now_ms(c->io) + stream_limits_of(c)->silence_ms;
    c->out_pending += bytes.len;
}

static void stream_flush_tls(struct stream_conn *c)
{
    struct str out = tls_output(c->tls);

    if (out.len == 0)
        return;
    stream_write_wire(c, out);
    tls_output_sent(c->tls);
}

void stream_send(struct stream_conn *c, struct str bytes)
{
    require(c->magic == STREAM_CONN_MAGIC);
    if (c->doomed || c->closing || c->ending)
        return;
    if (c->tls == NULL) {
        stream_write_wire(c, bytes);
    } else if (tls_write(c->tls, bytes)) {
        stream_flush_tls(c);
    } else {
        stream_doom(c);
    }
}

/* ---- input ---- */

/* Gives bytes to the handler until they are used up or it waits; returns the rest. */
static struct str stream_run(struct stream_conn *c, struct str in)
{
    c->running = true;
    while (in.len > 0 && !c->paused && !c->ending && !c->doomed && c->out_pending == 0) {
        size_t taken = stream_handler_of(c)->bytes(c->user, in);

        require(taken <= in.len && (taken > 0 || c->paused || c->ending));
        in = str_from(in, taken);
    }
    c->running = false;
    return in;
}

static void stream_discard(struct stream_conn *c, size_t count)
{
    c->discarded += count;
    if (c->discarded > stream_limits_of(c)->linger_bytes)
        stream_doom(c);
}

static void stream_input(struct stream_conn *c, struct str bytes)
{
    if (c->doomed)
        return;
    if (c->ending) {
        stream_discard(c, bytes.len);
        return;
    }
    require(c->rest_len == 0); /* (2) */
    bytes = stream_run(c, bytes);
    if (bytes.len == 0 || c->doomed)
        return;
    if (c->ending) {
        stream_discard(c, bytes.len);
        return;
    }
    c->rest = xmalloc(bytes.len);
    memcpy(c->rest, bytes.ptr, bytes.len);
    c->rest_len = bytes.len;
}

static void stream_handler_opens(struct stream_conn *c)
{
    c->own_at_ms = 0;
    c->shaking = false;
    c->opened = true;
    c->idle_since_ms = now_ms(c->io);
    c->user = stream_handler_of(c)->open(c, c->policy->arg);
}

/* Goes on with the handshake; true: it is done. */
static bool stream_shake(struct stream_conn *c)
{
    enum tls_result got = tls_handshake(c->tls);

    stream_flush_tls(c);
    if (got == TLS_MORE)
        return false;
    if (got != TLS_OK) {
        stream_refuse(c, STREAM_REFUSED_HANDSHAKE);
        return false;
    }
    stream_handler_opens(c);
    return true;
}

/* Decrypts what has come, as long as somebody takes it. */
static void stream_decrypt(struct stream_conn *c)
{
    if (c->shaking && !stream_shake(c))
        return;
    while (!c->doomed && c->rest_len == 0 && (c->ending || (!c->paused && c->out_pending == 0))) {
        size_t n = 0;
        enum tls_result got = tls_read(c->tls, c->io->plain_buf, STREAM_READ_BUF, &n);

        if (got == TLS_OK) {
            stream_input(c, str_mem(c->io->plain_buf, n));
            continue;
        }
        stream_flush_tls(c); /* an alert or a key update may have been written */
        if (got == TLS_CLOSED)
            c->eof = true;
        else if (got != TLS_MORE)
            stream_refuse(c, STREAM_REFUSED_HANDSHAKE);
        return;
    }
}

static void stream_alloc(uv_handle_t *h, size_t size, uv_buf_t *buf)
{
    const struct stream_conn *c = h->data;

    (void)size;
    *buf = uv_buf_init(c->io->read_buf, STREAM_READ_BUF);
}

static void stream_on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct stream_conn *c = s->data;

    require(c->magic == STREAM_CONN_MAGIC);
    if (n == 0 || c->closing)
        return;
    if (n == UV_EOF) {
        c->eof = true;
        c->reading = false;
    } else if (n < 0) {
        c->reading = false;
        stream_doom(c);
    } else if (c->tls != NULL) {
        tls_feed(c->tls, str_mem(buf->base, (size_t)n));
        stream_decrypt(c);
    } else {
        stream_input(c, str_mem(buf->base, (size_t)n));
    }
    stream_settle(c);
}

/* ---- going on ---- */

static void stream_wake(struct loop_msg *m)
{
    struct stream_conn *c = container_of(m, struct stream_conn, wake);

    require(c->magic == STREAM_CONN_MAGIC);
    c->scheduled = false;
    if (c->closing)
        return;
    if (c->doomed) {
        stream_close(c);
        return;
    }
    char *mem = c->rest;
    struct str left = { mem, c->rest_len };

    c->rest = NULL;
    c->rest_len = 0;
    if (left.len > 0)
        left = stream_run(c, left);
    if (left.len > 0 && !c->ending && !c->doomed) {
        memmove(mem, left.ptr, left.len);
        c->rest = mem;
        c->rest_len = left.len;
    } else {
        free(mem);
    }
    if (c->tls != NULL)
        stream_decrypt(c);
    stream_settle(c);
}

/* The output is sent and nothing more is wanted: shut down our side, then linger.  Closing with
 * unread input would make the kernel reset the connection and destroy the answer on its way. */
static void stream_settle_end(struct stream_conn *c)
{
    uv_os_fd_t fd;

    if (c->tls != NULL && !c->said_bye) {
        c->said_bye = true;
        tls_finish(c->tls);
        stream_flush_tls(c);
        if (c->out_pending > 0)
            return;
    }
    if (c->eof || uv_fileno((uv_handle_t *)&c->tcp, &fd) < 0 || shutdown(fd, SHUT_WR) < 0) {
        stream_doom(c);
        return;
    }
    c->lingering = true;
    c->own_at_ms = now_ms(c->io) + stream_limits_of(c)->linger_ms;
}

static void stream_settle_reading(struct stream_conn *c)
{
    bool want = !c->eof && c->rest_len == 0 && c->out_pending == 0 && (!c->paused || c->ending);

    if (want == c->reading)
        return;
    c->reading = want;
    if (!want)
        (void)uv_read_stop((uv_stream_t *)&c->tcp);
    else if (uv_read_start((uv_stream_t *)&c->tcp, stream_alloc, stream_on_read) < 0)
        stream_doom(c);
}

/* Whether the handler still has something to do with what came. */
static bool stream_is_at_work(const struct stream_conn *c)
{
    return c->paused || c->rest_len > 0 || c->out_pending > 0;
}

/* After any change: starts or stops reading, notices that the connection is over. */
static void stream_settle(struct stream_conn *c)
{
    if (c->doomed || c->closing || c->running)
        return;
    if (c->ending && c->out_pending == 0 && !c->lingering)
        stream_settle_end(c);
    if (c->eof && c->opened && !c->eof_told && !c->ending && !stream_is_at_work(c)) {
        c->eof_told = true;
        c->running = true;
        stream_handler_of(c)->eof(c->user);
        c->running = false;
    }
    bool over = c->eof && (c->lingering || !stream_is_at_work(c));
    bool leaves = c->leaving && !c->ending && !c->busy && !stream_is_at_work(c);

    if (over || leaves)
        stream_doom(c);
    if (!c->doomed)
        stream_settle_reading(c);
}

/* ---- for handlers ---- */

struct loop *stream_loop(const struct stream_conn *c)
{
    return c->io->loop;
}

uint64_t stream_now_ms(const struct stream_conn *c)
{
    return now_ms(c->io);
}

void stream_pause(struct stream_conn *c)
{
    c->paused = true;
    stream_schedule(c);
}

void stream_resume(struct stream_conn *c)
{
    c->paused = false;
    stream_schedule(c);
}

void stream_set_busy(struct stream_conn *c, bool busy)
{
    if (c->busy && !busy)
        c->idle_since_ms = now_ms(c->io);
    c->busy = busy;
}

void stream_deadline(struct stream_conn *c, uint32_t ms)
{
    c->handler_at_ms = ms > 0 ? now_ms(c->io) + ms : 0;
}

void stream_blame(struct stream_conn *c, enum stream_refusal why)
{
    stream_server_count(c->io->server, why, &c->from);
}

void stream_finish(struct stream_conn *c)
{
    c->ending = true;
    stream_deadline(c, 0);
    stream_schedule(c);
}

/* ---- times ---- */

static void stream_check_times(struct stream_conn *c, uint64_t now)
{
    if (c->doomed || c->closing)
        return;
    if (c->own_at_ms != 0 && c->own_at_ms <= now) {
        if (c->shaking)
            stream_refuse(c, STREAM_REFUSED_HANDSHAKE);
        else if (!c->lingering)
            stream_refuse(c, STREAM_REFUSED_SLOW_READER);
        stream_doom(c);
    } else if (c->handler_at_ms != 0 && c->handler_at_ms <= now) {
        c->handler_at_ms = 0;
        stream_handler_of(c)->expired(c->user);
        stream_schedule(c);
    }
}

static void stream_on_tick(uv_timer_t *h)
{
    struct stream_io *io = h->data;
    uint64_t now = uv_now(h->loop);

    if (io == &io->server->io[0])
        stream_server_unmute(io->server);
    for (struct stream_conn *c = io->conns; c != NULL; c = c->next) {
        stream_check_times(c, now);
        if (io->stopping && now >= io->cut_at_ms)
            stream_doom(c);
    }
}

/* ---- the loop's part of the server ---- */

void stream_io_start(struct stream_io *io)
{
    uint32_t tick_ms = io->server->o.limits.tick_ms;

    io->read_buf = xmalloc(STREAM_READ_BUF);
    io->plain_buf = xmalloc(STREAM_READ_BUF);
    require(uv_timer_init(loop_uv(io->loop), &io->tick) == 0);
    io->tick.data = io;
    require(uv_timer_start(&io->tick, stream_on_tick, tick_ms, tick_ms) == 0);
}

void stream_io_leave(struct stream_io *io, const struct stream_policy *now)
{
    for (struct stream_conn *c = io->conns; c != NULL; c = c->next)
        if (c->policy != now) {
            c->leaving = true;
            stream_settle(c);
        }
}

void stream_io_stop(struct stream_io *io, uint32_t grace_ms)
{
    io->stopping = true;
    io->cut_at_ms = now_ms(io) + grace_ms;
    stream_io_leave(io, NULL);
    stream_io_end_if_done(io);
}

/* ---- the beginning ---- */

/* Of the connections of this loop the one that has been idle for longest; NULL: none is. */
static struct stream_conn *longest_idle(struct stream_io *io)
{
    struct stream_conn *found = NULL;

    for (struct stream_conn *c = io->conns; c != NULL; c = c->next)
        if (c->opened && !c->busy && !c->doomed && !c->closing && !stream_is_at_work(c) &&
            (found == NULL || c->idle_since_ms <= found->idle_since_ms))
            found = c;
    return found;
}

/* Whether there is room for one more. */
static bool stream_has_room(struct stream_io *io)
{
    struct stream_server *s = io->server;

    if (atomic_load_explicit(&s->connections, memory_order_relaxed) < s->o.limits.connections)
        return true;
    struct stream_conn *idle = longest_idle(io);

    if (idle == NULL)
        return false;
    stream_refuse(idle, STREAM_REFUSED_SILENT);
    return true;
}

static void keep_alive(int fd)
{
    int one = 1, idle = KEEP_IDLE_S, every = KEEP_EVERY_S, tries = KEEP_TRIES;

    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
}

static bool may_enter(struct stream_io *io, const struct stream_policy *p,
                      const struct network_address *from)
{
    bool known = p->allow_count == 0 || network_any_has(p->allow, p->allow_count, from);

    if (known && !io->stopping && stream_has_room(io))
        return true;
    if (!io->stopping)
        stream_server_count(io->server, known ? STREAM_REFUSED_OVERLOAD : STREAM_REFUSED_NETWORK,
                            from);
    return false;
}

void stream_conn_open(struct stream_io *io, int fd, const struct network_address *from)
{
    struct stream_policy *p = stream_server_policy(io->server);

    if (!may_enter(io, p, from)) {
        (void)close(fd);
        stream_policy_unref(p);
        return;
    }
    struct stream_conn *c = NEW(struct stream_conn);

    c->magic = STREAM_CONN_MAGIC;
    c->io = io;
    c->policy = p;
    c->from = *from;
    c->wake.fn = stream_wake;
    require(uv_tcp_init(loop_uv(io->loop), &c->tcp) == 0);
    c->tcp.data = c;
    c->next = io->conns;
    if (c->next != NULL)
        c->next->prev = c;
    io->conns = c;
    io->conn_count++;
    atomic_fetch_add_explicit(&io->server->connections, 1, memory_order_relaxed);
    keep_alive(fd);
    if (uv_tcp_open(&c->tcp, fd) < 0) {
        (void)close(fd);
        stream_doom(c);
        return;
    }
    if (p->tls != NULL) {
        c->tls = tls_accept(p->tls);
        c->shaking = true;
        c->own_at_ms = now_ms(io) + stream_limits_of(c)->handshake_ms;
    } else {
        stream_handler_opens(c);
    }
    stream_settle(c);
}
