#include "base/http_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/http_conn.h"
#include "base/listen_socket.h"
#include "base/require.h"

enum { ACCEPTS_PER_EVENT = 64, BACKLOG = 4096 };

const char *http_refusal_name(enum http_refusal why)
{
    static const char *const names[] = {
#define X(id, text) [HTTP_REFUSED_##id] = text,
        HTTP_REFUSALS(X)
#undef X
    };

    require(why < HTTP_REFUSAL_COUNT);
    return names[why];
}

/* ---- accepting ---- */

#define OVERLOAD_BODY                                                                              \
    "{\"error\":{\"code\":\"too_many_connections\",\"message\":\"too many connections; try again " \
    "later\"}}"
static const char overload_answer[] =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
    "Content-Length: 91\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" OVERLOAD_BODY;
_Static_assert(sizeof OVERLOAD_BODY - 1 == 91, "the length above is that of the body");

/* Closes a connection without an object for it; sends a 503 if it is not TLS. */
static void turn_away(struct http_io *io, int fd, enum http_refusal why)
{
    char seen[4096];

    http_count(&io->counters.refused[why], 1);
    if (io->server->o.tls == NULL) {
        (void)!recv(fd, seen, sizeof seen, MSG_DONTWAIT); /* unread bytes would cause a reset */
        (void)!send(fd, overload_answer, sizeof overload_answer - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    (void)close(fd);
}

/* How many connections over the limit may stay until their answer is sent: they use descriptors
 * too. */
static size_t refusing_most(const struct http_server *s)
{
    size_t part = s->o.limits.connections / 16 + 1;

    return part < HTTP_REFUSING ? part : HTTP_REFUSING;
}

/* Counts the connection for its address; returns how many that has over its limit.  A trusted proxy
 * has none: its connections are those of many. */
static uint32_t join_crowd(struct http_server *s, struct http_guest *g)
{
    uint32_t most = s->o.limits.per_address;

    if (s->crowd == NULL || network_any_has(s->o.trust, s->o.trust_count, &g->from))
        return 0;
    uint32_t count = http_crowd_enter(s->crowd, &g->from);

    g->counted = true;
    return count > most ? count - most : 0;
}

/* A connection over a limit may stay for one reserved request, if there are not too many of them.
 * One address leaves a quarter of these places to others. */
static bool may_stay(const struct http_io *io, uint32_t over)
{
    const struct http_server *s = io->server;

    return (s->o.tls == NULL || s->o.is_reserved != NULL) &&
           io->refusing_count < refusing_most(s) && over <= refusing_most(s) - refusing_most(s) / 4;
}

static void http_server_take(struct http_io *io, int fd, const struct sockaddr *peer, socklen_t len)
{
    struct http_server *s = io->server;
    struct http_guest g = { .fd = fd };

    http_count(&io->counters.accepted, 1);
    (void)network_address_of(peer, &g.from);
    uint32_t over = join_crowd(s, &g);
    uint32_t before = atomic_fetch_add_explicit(&s->connections, 1, memory_order_relaxed);

    g.crowded = over > 0 && !conn_evict_silent(io, &g.from);
    g.refusing = g.crowded ||
                 (over == 0 && before >= s->o.limits.connections && !conn_evict_silent(io, NULL));
    if (g.refusing) /* a connection that gets a 503, or one reserved request, does not count */
        atomic_fetch_sub_explicit(&s->connections, 1, memory_order_relaxed);
    if (g.refusing && !may_stay(io, over)) {
        if (g.counted)
            http_crowd_leave(s->crowd, &g.from);
        turn_away(io, fd, g.crowded ? HTTP_REFUSED_CROWD : HTTP_REFUSED_OVERLOAD);
        return;
    }
    conn_open(io, &g, peer, len);
}

/* Out of descriptors: closes the spare descriptor to accept the connection and refuse it.
 * Otherwise it would stay in the backlog and wake the loop for ever.  False: failed. */
static bool take_without_descriptor(struct http_io *io, int listen_fd)
{
    if (io->spare_fd < 0)
        return false;
    (void)close(io->spare_fd);
    int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd >= 0) {
        http_count(&io->counters.accepted, 1);
        turn_away(io, fd, HTTP_REFUSED_OVERLOAD);
    }
    io->spare_fd = listen_socket_spare();
    return fd >= 0;
}

static void on_connection(uv_poll_t *h, int status, int events)
{
    struct http_listener *l = container_of(h, struct http_listener, poll);
    struct http_io *io = h->data;

    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof peer;
        int fd = accept4(l->fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            http_server_take(io, fd, (const struct sockaddr *)&peer, len);
            continue;
        }
        if (errno == EAGAIN)
            return;
        if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO)
            continue;
        if ((errno == EMFILE || errno == ENFILE) && take_without_descriptor(io, l->fd))
            continue;
        l->muted = true; /* the tick starts to listen again */
        (void)uv_poll_stop(&l->poll);
        return;
    }
}

static void listen_on(struct http_listener *l)
{
    l->muted = uv_poll_start(&l->poll, UV_READABLE, on_connection) < 0;
}

/* ---- the tick ---- */

void io_tell_heads(struct http_io *io)
{
    if (io->server->o.memory != NULL && io->heads_untold != 0)
        memory_share_note_heads(io->server->o.memory, io->heads_untold);
    io->heads_untold = 0;
}

static void set_date(struct http_io *io)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int64_t now_s = clock_wall_us() / CLOCK_S;
    time_t t = (time_t)now_s;
    struct tm tm;

    if (now_s == io->date_s)
        return;
    io->date_s = now_s;
    (void)gmtime_r(&t, &tm);
    (void)snprintf(io->date, sizeof io->date, "Date: %.3s, %02d %.3s %04d %02d:%02d:%02d GMT\r\n",
                   days + 3 * tm.tm_wday, tm.tm_mday % 100, months + 3 * tm.tm_mon,
                   (tm.tm_year + 1900) % 10000, tm.tm_hour % 100, tm.tm_min % 100, tm.tm_sec % 100);
}

static void on_tick(uv_timer_t *h)
{
    struct http_io *io = h->data;
    uint64_t now = uv_now(h->loop);

    set_date(io);
    io_tell_heads(io);
    for (size_t i = 0; i < io->listener_count && !io->stopping; i++)
        if (io->listeners[i].muted)
            listen_on(&io->listeners[i]);
    for (enum wait w = WAIT_NONE + 1; w < WAITS; w++)
        while (io->waits[w].next != &io->waits[w] && io->waits[w].next->at_ms <= now)
            conn_expired(io->waits[w].next, w);
    if (io->stopping && now >= io->cut_at_ms)
        for (struct http_conn *c = io->conns; c != NULL; c = c->next)
            conn_doom(c);
}

/* ---- stopping on a loop ---- */

static void on_tick_closed(uv_handle_t *h)
{
    struct http_io *io = h->data;
    struct http_server *s = io->server;

    io_tell_heads(io);
    while (io->free_requests != NULL) {
        struct request *r = io->free_requests;

        io->free_requests = r->next_free;
        http_parser_done(&r->parser);
        free(r);
    }
    free(io->read_buf);
    free(io->plain_buf);
    free(io->out_buf);
    if (io->spare_fd >= 0)
        (void)close(io->spare_fd);
    pthread_mutex_lock(&s->lock);
    s->running--;
    (void)pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void end_if_done(struct http_io *io)
{
    if (io->stopping && io->conn_count == 0 && io->handles == 0 &&
        !uv_is_closing((uv_handle_t *)&io->tick))
        uv_close((uv_handle_t *)&io->tick, on_tick_closed);
}

static void on_listener_closed(uv_handle_t *h)
{
    struct http_io *io = h->data;

    (void)close(((struct http_listener *)h)->fd);
    io->handles--;
    end_if_done(io);
}

void io_conn_closed(struct http_io *io, struct http_conn *c)
{
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        io->conns = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    io->conn_count--;
    io->refusing_count -= c->refusing;
    http_count(&io->counters.open, (uint64_t)-1);
    if (c->counted)
        http_crowd_leave(io->server->crowd, &c->from);
    if (!c->refusing)
        atomic_fetch_sub_explicit(&io->server->connections, 1, memory_order_relaxed);
    end_if_done(io);
}

static void http_server_on_stop(struct loop_msg *m)
{
    struct http_io *io = container_of(m, struct http_io, stop);

    io->stopping = true;
    io->cut_at_ms = uv_now(loop_uv(io->loop)) + io->server->grace_ms;
    for (size_t i = 0; i < io->listener_count; i++)
        uv_close((uv_handle_t *)&io->listeners[i].poll, on_listener_closed);
    for (struct http_conn *c = io->conns; c != NULL; c = c->next) {
        if (c->shaking)
            conn_doom(c);
        conn_settle(c); /* closes an idle connection */
    }
    end_if_done(io);
}

/* ---- the beginning ---- */

static void http_server_on_start(struct loop_msg *m)
{
    struct http_io *io = container_of(m, struct http_io, start);
    struct http_server *s = io->server;
    uv_loop_t *uv = loop_uv(io->loop);

    for (enum wait w = WAIT_NONE; w < WAITS; w++)
        io->waits[w].prev = io->waits[w].next = &io->waits[w];
    io->read_buf = xmalloc(HTTP_READ_BUF);
    io->plain_buf = s->o.tls != NULL ? xmalloc(HTTP_READ_BUF) : NULL;
    io->out_buf = xmalloc(HTTP_OUT_BUF);
    io->spare_fd = listen_socket_spare();
    set_date(io);
    require(uv_timer_init(uv, &io->tick) == 0);
    io->tick.data = io;
    require(uv_timer_start(&io->tick, on_tick, s->o.limits.tick_ms, s->o.limits.tick_ms) == 0);
    for (size_t i = 0; i < io->listener_count; i++) {
        struct http_listener *l = &io->listeners[i];

        require(uv_poll_init_socket(uv, &l->poll, l->fd) == 0);
        l->poll.data = io;
        io->handles++;
        listen_on(l);
    }
    pthread_mutex_lock(&s->lock);
    s->running++;
    (void)pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* Binds one address, with one socket per loop. */
static bool http_server_bind_all(struct http_server *s, const struct addrinfo *a, struct err *err)
{
    for (size_t i = 0; i < s->io_count; i++) {
        struct http_io *io = &s->io[i];
        int fd;

        /* With SO_REUSEPORT two daemons could share a port unnoticed, and each would get half of
         * the requests: try to bind without it first. */
        if ((i == 0 && !listen_socket_is_free(a, s->port, err)) ||
            !listen_socket_bind(a, s->port, true, &fd, err))
            return false;
        io->listeners[io->listener_count++].fd = fd;
        if (s->port == 0)
            s->port = listen_socket_port(fd);
        if (listen(fd, BACKLOG) < 0)
            return err_set(err, ERR_CONFIG, errno, "listen: %s", strerror(errno));
    }
    return true;
}

/* Binds every address of the name.  An IPv6 address may fail: a machine without IPv6 can
 * still resolve one. */
static bool bind_name(struct http_server *s, struct err *err)
{
    struct addrinfo *all = NULL;
    size_t bound = 0;
    bool ok = true;

    if (!listen_socket_resolve(s->o.host, &all, err))
        return false;
    for (struct addrinfo *a = all; a != NULL && bound < HTTP_ADDRESSES; a = a->ai_next) {
        struct err one = { 0 };

        if (a->ai_family != AF_INET && a->ai_family != AF_INET6)
            continue;
        if (http_server_bind_all(s, a, &one))
            bound++;
        else if (!listen_socket_may_miss(&one)) {
            *err = one;
            ok = false;
            break;
        }
    }
    freeaddrinfo(all);
    if (ok && bound == 0)
        ok = err_set(err, ERR_CONFIG, 0, "no address of this machine");
    return ok ||
           err_context(err, "listen on %s port %d", s->o.host != NULL ? s->o.host : "*", s->o.port);
}

static struct http_server *http_server_make(const struct http_server_options *o,
                                            struct loop **loops, size_t loop_count)
{
    struct http_server *s = NEW(struct http_server);

    s->o = *o;
    s->port = o->port;
    s->io_count = loop_count;
    s->io = xcalloc(loop_count, sizeof *s->io);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    if (o->limits.per_address > 0)
        s->crowd = http_crowd_new(o->limits.connections);
    for (size_t i = 0; i < loop_count; i++) {
        s->io[i].server = s;
        s->io[i].loop = loops[i];
        s->io[i].start.fn = http_server_on_start;
        s->io[i].stop.fn = http_server_on_stop;
    }
    return s;
}

static void wait_for(struct http_server *s, size_t running)
{
    pthread_mutex_lock(&s->lock);
    while (s->running != running)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

bool http_server_start(const struct http_server_options *o, struct loop **loops, size_t loop_count,
                       struct http_server **ret_server, struct err *err)
{
    const struct http_handler *h = o->handler;

    require(loop_count > 0 && h->head != NULL && h->body != NULL && h->end != NULL &&
            h->gone != NULL && o->limits.tick_ms > 0);
    require(o->limits.head.fields <= HTTP_FIELDS_MAX && o->limits.head.head_bytes <= HTTP_HEAD_MAX);
    struct http_server *s = http_server_make(o, loops, loop_count);

    if (!bind_name(s, err)) {
        for (size_t i = 0; i < s->io_count; i++)
            for (size_t k = 0; k < s->io[i].listener_count; k++)
                (void)close(s->io[i].listeners[k].fd);
        http_server_free(s);
        return false;
    }
    for (size_t i = 0; i < s->io_count; i++)
        loop_post(s->io[i].loop, &s->io[i].start);
    wait_for(s, s->io_count);
    *ret_server = s;
    return true;
}

uint16_t http_server_port(const struct http_server *s)
{
    return s->port;
}

static uint64_t read_counter(const _Atomic uint64_t *c)
{
    return atomic_load_explicit(c, memory_order_relaxed);
}

void http_server_stats(const struct http_server *s, struct http_stats *ret_stats)
{
    *ret_stats = (struct http_stats){ 0 };
    for (size_t i = 0; i < s->io_count; i++) {
        const struct http_counters *c = &s->io[i].counters;

        ret_stats->open += read_counter(&c->open);
        ret_stats->accepted += read_counter(&c->accepted);
        ret_stats->requests += read_counter(&c->requests);
        ret_stats->bytes_in += read_counter(&c->bytes_in);
        ret_stats->bytes_out += read_counter(&c->bytes_out);
        for (size_t k = 0; k < HTTP_REFUSAL_COUNT; k++)
            ret_stats->refused[k] += read_counter(&c->refused[k]);
    }
}

void http_server_stop(struct http_server *s, uint32_t grace_ms)
{
    s->grace_ms = grace_ms; /* posting publishes it */
    for (size_t i = 0; i < s->io_count; i++) {
        require(!loop_is_current(s->io[i].loop));
        loop_post(s->io[i].loop, &s->io[i].stop);
    }
    wait_for(s, 0);
}

void http_server_free(struct http_server *s)
{
    if (s == NULL)
        return;
    require(s->running == 0);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->changed);
    http_crowd_free(s->crowd);
    free(s->io);
    free(s);
}
