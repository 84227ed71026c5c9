/* stream_server.c - listening, policies and the end; stream_conn.c has the connections.
 *
 * The listening sockets are on the first loop.  A connection goes to the next loop in turn, by a
 * message; the end of the server is told to the other loops by the first one, behind its last
 * message of this kind, so that a connection never comes to a loop that has let go of the server.
 */
#include "base/stream_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/container_of.h"
#include "base/listen_socket.h"
#include "base/require.h"
#include "base/stream_conn.h"

enum { ACCEPTS_PER_EVENT = 64, BACKLOG = 512 };

const char *stream_refusal_name(enum stream_refusal why)
{
    static const char *const names[] = {
#define X(id, text) [STREAM_REFUSED_##id] = text,
        STREAM_REFUSALS(X)
#undef X
    };

    require(why < STREAM_REFUSAL_COUNT);
    return names[why];
}

/* ---- policies ---- */

void stream_policy_unref(struct stream_policy *p)
{
    if (p == NULL || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    tls_context_close(p->tls);
    if (p->free_arg != NULL)
        p->free_arg(p->arg);
    free(p->allow);
    free(p);
}

struct stream_policy *stream_server_policy(struct stream_server *s)
{
    pthread_mutex_lock(&s->lock);
    struct stream_policy *p = s->policy;

    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&s->lock);
    return p;
}

static void on_policy(struct loop_msg *m)
{
    struct stream_io *io = container_of(m, struct stream_io, renew);
    struct stream_policy *p = stream_server_policy(io->server);

    stream_io_leave(io, p);
    stream_policy_unref(p);
    pthread_mutex_lock(&io->server->lock);
    io->renewing = false;
    (void)pthread_cond_broadcast(&io->server->changed);
    pthread_mutex_unlock(&io->server->lock);
}

void stream_server_use(struct stream_server *s, struct stream_policy *policy)
{
    pthread_mutex_lock(&s->lock);
    struct stream_policy *old = s->policy;

    s->policy = policy;
    for (size_t i = 0; i < s->io_count; i++) {
        while (s->io[i].renewing) /* a message is posted once at a time */
            (void)pthread_cond_wait(&s->changed, &s->lock);
        s->io[i].renewing = true;
        loop_post(s->io[i].loop, &s->io[i].renew);
    }
    pthread_mutex_unlock(&s->lock);
    stream_policy_unref(old);
}

/* ---- counting ---- */

void stream_server_count(struct stream_server *s, enum stream_refusal why,
                         const struct network_address *from)
{
    pthread_mutex_lock(&s->lock);
    s->stats.refused[why]++;
    s->stats.refused_all++;
    s->stats.why = why;
    s->stats.from = *from;
    pthread_mutex_unlock(&s->lock);
}

void stream_server_stats(struct stream_server *s, struct stream_stats *ret)
{
    pthread_mutex_lock(&s->lock);
    *ret = s->stats;
    pthread_mutex_unlock(&s->lock);
    ret->open = atomic_load_explicit(&s->connections, memory_order_relaxed);
    ret->accepted = atomic_load_explicit(&s->accepted, memory_order_relaxed);
}

/* ---- accepting ---- */

struct newcomer {
    struct loop_msg msg;
    struct stream_io *io;
    int fd;
    struct network_address from;
};

static void on_newcomer(struct loop_msg *m)
{
    struct newcomer *n = container_of(m, struct newcomer, msg);

    stream_conn_open(n->io, n->fd, &n->from);
    free(n);
}

static void take(struct stream_server *s, int fd, const struct sockaddr *peer)
{
    struct stream_io *io = &s->io[s->next_io++ % s->io_count];
    struct network_address from = { 0 };

    atomic_fetch_add_explicit(&s->accepted, 1, memory_order_relaxed);
    (void)network_address_of(peer, &from);
    if (io == &s->io[0]) {
        stream_conn_open(io, fd, &from);
        return;
    }
    struct newcomer *n = NEW(struct newcomer);

    *n = (struct newcomer){ .msg = { .fn = on_newcomer }, .io = io, .fd = fd, .from = from };
    loop_post(io->loop, &n->msg);
}

/* Out of descriptors: closes the spare one to accept the connection and refuse it, which would wake
 * the loop for ever. */
static bool stream_take_without_descriptor(struct stream_server *s, int listen_fd)
{
    static const struct network_address unknown;

    if (s->spare_fd < 0)
        return false;
    (void)close(s->spare_fd);
    int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd >= 0) {
        (void)close(fd);
        stream_server_count(s, STREAM_REFUSED_OVERLOAD, &unknown);
    }
    s->spare_fd = listen_socket_spare();
    return fd >= 0;
}

static void stream_on_connection(uv_poll_t *h, int status, int events)
{
    struct stream_listener *l = container_of(h, struct stream_listener, poll);
    struct stream_server *s = h->data;

    (void)status;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof peer;
        int fd = accept4(l->fd, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            take(s, fd, (const struct sockaddr *)&peer);
            continue;
        }
        if (errno == EAGAIN)
            return;
        if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO)
            continue;
        if ((errno == EMFILE || errno == ENFILE) && stream_take_without_descriptor(s, l->fd))
            continue;
        l->muted = true; /* the tick starts to listen again */
        (void)uv_poll_stop(&l->poll);
        return;
    }
}

static void stream_listen_on(struct stream_listener *l)
{
    l->muted = uv_poll_start(&l->poll, UV_READABLE, stream_on_connection) < 0;
}

void stream_server_unmute(struct stream_server *s)
{
    for (size_t i = 0; i < s->listener_count && !s->io[0].stopping; i++)
        if (s->listeners[i].muted)
            stream_listen_on(&s->listeners[i]);
}

/* ---- the end, on the loops ---- */

void stream_io_ended(struct stream_io *io)
{
    struct stream_server *s = io->server;

    pthread_mutex_lock(&s->lock);
    s->running--;
    (void)pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static void stream_on_listener_closed(uv_handle_t *h)
{
    struct stream_server *s = h->data;

    (void)close(container_of((uv_poll_t *)h, struct stream_listener, poll)->fd);
    s->io[0].handles--;
    stream_io_end_if_done(&s->io[0]);
}

static void stream_on_stop(struct loop_msg *m)
{
    struct stream_io *io = container_of(m, struct stream_io, stop);
    struct stream_server *s = io->server;

    if (io == &s->io[0]) {
        for (size_t i = 0; i < s->listener_count; i++)
            uv_close((uv_handle_t *)&s->listeners[i].poll, stream_on_listener_closed);
        for (size_t i = 1; i < s->io_count; i++)
            loop_post(s->io[i].loop, &s->io[i].stop);
    }
    stream_io_stop(io, s->grace_ms);
}

/* ---- the beginning ---- */

static void stream_on_start(struct loop_msg *m)
{
    struct stream_io *io = container_of(m, struct stream_io, start);
    struct stream_server *s = io->server;

    stream_io_start(io);
    for (size_t i = 0; io == &s->io[0] && i < s->listener_count; i++) {
        struct stream_listener *l = &s->listeners[i];

        require(uv_poll_init_socket(loop_uv(io->loop), &l->poll, l->fd) == 0);
        l->poll.data = s;
        io->handles++;
        stream_listen_on(l);
    }
    pthread_mutex_lock(&s->lock);
    s->running++;
    (void)pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static bool bind_address(struct stream_server *s, const struct addrinfo *a, struct err *err)
{
    int fd;

    if (!listen_socket_bind(a, s->port, false, &fd, err))
        return false;
    s->listeners[s->listener_count++].fd = fd;
    if (s->port == 0)
        s->port = listen_socket_port(fd);
    return listen(fd, BACKLOG) == 0 ||
           err_set(err, ERR_CONFIG, errno, "listen: %s", strerror(errno));
}

/* Binds every address of the name. */
static bool bind_host(struct stream_server *s, struct err *err)
{
    struct addrinfo *all;
    bool ok = true;

    if (!listen_socket_resolve(s->o.host, &all, err))
        return false;
    for (struct addrinfo *a = all; ok && a != NULL && s->listener_count < STREAM_ADDRESSES;
         a = a->ai_next) {
        struct err one = { 0 };

        if (a->ai_family != AF_INET && a->ai_family != AF_INET6)
            continue;
        ok = bind_address(s, a, &one) || listen_socket_may_miss(&one);
        if (!ok)
            *err = one;
    }
    freeaddrinfo(all);
    if (ok && s->listener_count == 0)
        ok = err_set(err, ERR_CONFIG, EADDRNOTAVAIL, "no address of this machine");
    return ok;
}

static struct stream_server *stream_server_make(const struct stream_server_options *o,
                                                struct stream_policy *policy)
{
    struct stream_server *s = NEW(struct stream_server);

    s->o = *o;
    s->o.host = NULL; /* lent for the call only */
    s->port = o->port;
    s->policy = policy;
    s->spare_fd = -1;
    s->io_count = o->loop_count;
    s->io = xcalloc(o->loop_count, sizeof *s->io);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    for (size_t i = 0; i < o->loop_count; i++) {
        s->io[i].server = s;
        s->io[i].loop = o->loops[i];
        s->io[i].start.fn = stream_on_start;
        s->io[i].stop.fn = stream_on_stop;
        s->io[i].renew.fn = on_policy;
    }
    return s;
}

static void stream_wait_for(struct stream_server *s, size_t running)
{
    pthread_mutex_lock(&s->lock);
    while (s->running != running)
        (void)pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static void stream_server_forget(struct stream_server *s)
{
    stream_policy_unref(s->policy);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->changed);
    if (s->spare_fd >= 0)
        (void)close(s->spare_fd);
    free(s->io);
    free(s);
}

bool stream_server_open(const struct stream_server_options *o, struct stream_policy *policy,
                        struct stream_server **ret, struct err *err)
{
    require(o->loop_count > 0 && o->limits.tick_ms > 0);
    struct stream_server *s = stream_server_make(o, policy);

    s->o.host = o->host;
    if (!bind_host(s, err)) {
        for (size_t i = 0; i < s->listener_count; i++)
            (void)close(s->listeners[i].fd);
        stream_server_forget(s);
        return false;
    }
    s->o.host = NULL;
    s->spare_fd = listen_socket_spare();
    for (size_t i = 0; i < s->io_count; i++)
        loop_post(s->io[i].loop, &s->io[i].start);
    stream_wait_for(s, s->io_count);
    *ret = s;
    return true;
}

bool stream_server_try(const char *host, uint16_t port, struct err *err)
{
    struct addrinfo *all;
    size_t found = 0;
    bool ok = true;

    if (!listen_socket_resolve(host, &all, err))
        return false;
    for (struct addrinfo *a = all; ok && a != NULL; a = a->ai_next) {
        struct err one = { 0 };

        if (a->ai_family != AF_INET && a->ai_family != AF_INET6)
            continue;
        bool is_free = listen_socket_is_free(a, port, &one);

        found += is_free;
        ok = is_free || listen_socket_may_miss(&one);
        if (!ok)
            *err = one;
    }
    freeaddrinfo(all);
    if (ok && found == 0)
        ok = err_set(err, ERR_CONFIG, EADDRNOTAVAIL, "no address of this machine");
    return ok;
}

uint16_t stream_server_port(const struct stream_server *s)
{
    return s->port;
}

void stream_server_close(struct stream_server *s, uint32_t grace_ms)
{
    require(!loop_is_current(s->io[0].loop));
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->io_count; i++)
        while (s->io[i].renewing) /* a loop that has ended is told nothing any more */
            (void)pthread_cond_wait(&s->changed, &s->lock);
    s->grace_ms = grace_ms;
    pthread_mutex_unlock(&s->lock);
    loop_post(s->io[0].loop, &s->io[0].stop);
}

bool stream_server_is_closed(struct stream_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool closed = s->running == 0;

    pthread_mutex_unlock(&s->lock);
    return closed;
}

void stream_server_free(struct stream_server *s)
{
    if (s == NULL)
        return;
    stream_wait_for(s, 0);
    stream_server_forget(s);
}
