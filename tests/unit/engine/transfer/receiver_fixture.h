/* receiver_fixture.h - a receiver with every bad habit, in threads of the test program.
 *
 * The path of a request chooses what becomes of it: see receiver_serve().  With a context it
 * speaks TLS.
 */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { RECEIVER_CONNECTIONS = 256, RECEIVER_HEAD = 16 << 10 };

struct receiver;

struct receiver_conn {
    struct receiver *receiver;
    pthread_t thread;
    int fd;
    SSL *ssl;
    int served;               /* requests on this connection */
    char head[RECEIVER_HEAD]; /* of the request, terminated */
    size_t have, head_len;    /* bytes in head; bytes of the head */
    int64_t length;           /* its Content-Length */
    uint64_t sum;             /* of its body */
};

struct receiver {
    int fd;
    uint16_t port;
    SSL_CTX *ctx;
    pthread_t thread;
    atomic_int connections, requests, at_once, most_at_once;
    atomic_bool stopping;
    _Atomic uint64_t last_sum;
    pthread_mutex_t mutex;
    char last_head[RECEIVER_HEAD]; /* read it when nobody sends */
    struct receiver_conn conns[RECEIVER_CONNECTIONS];
};

static ssize_t receiver_read(struct receiver_conn *c, char *to, size_t room)
{
    size_t n;

    if (c->ssl == NULL)
        return recv(c->fd, to, room, 0);
    return SSL_read_ex(c->ssl, to, room, &n) == 1 ? (ssize_t)n : -1;
}

static bool receiver_say_bytes(struct receiver_conn *c, const char *bytes, size_t len)
{
    size_t n;

    if (c->ssl != NULL)
        return SSL_write_ex(c->ssl, bytes, len, &n) == 1;
    while (len > 0) {
        ssize_t sent = send(c->fd, bytes, len, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

static bool receiver_say(struct receiver_conn *c, const char *text)
{
    return receiver_say_bytes(c, text, strlen(text));
}

/* One header section; what follows of the body stays in head. */
static bool receiver_read_head(struct receiver_conn *c)
{
    for (;;) {
        c->head[c->have] = '\0';
        char *end = strstr(c->head, "\r\n\r\n");

        if (end != NULL) {
            c->head_len = (size_t)(end - c->head) + 4;
            break;
        }
        ssize_t n = receiver_read(c, c->head + c->have, RECEIVER_HEAD - 1 - c->have);

        if (n <= 0)
            return false;
        c->have += (size_t)n;
    }
    const char *length = strcasestr(c->head, "\r\ncontent-length:");

    c->length = length == NULL ? 0 : strtoll(length + 17, NULL, 10);
    return true;
}

static void receiver_add(struct receiver_conn *c, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        c->sum = c->sum * 31 + (unsigned char)bytes[i];
}

static bool receiver_read_body(struct receiver_conn *c)
{
    char bytes[16 << 10];
    size_t early = c->have - c->head_len;
    int64_t left = c->length;

    c->sum = 0;
    if ((int64_t)early > left)
        early = (size_t)left;
    receiver_add(c, c->head + c->head_len, early);
    left -= (int64_t)early;
    while (left > 0) {
        ssize_t n =
            receiver_read(c, bytes, left < (int64_t)sizeof bytes ? (size_t)left : sizeof bytes);
        if (n <= 0)
            return false;
        receiver_add(c, bytes, (size_t)n);
        left -= n;
    }
    size_t used = c->head_len + early;

    memmove(c->head, c->head + used, c->have - used);
    c->have -= used;
    return true;
}

static void receiver_reset(struct receiver_conn *c)
{
    struct linger hard = { .l_onoff = 1 };

    (void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

/* True: the connection goes on.  Defined by the test. */
static bool receiver_serve(struct receiver_conn *c, const char *path);

static void receiver_talk(struct receiver_conn *c)
{
    struct receiver *r = c->receiver;
    char path[256] = "";

    while (receiver_read_head(c)) {
        if (sscanf(c->head, "%*15s %255s", path) != 1)
            return;
        (void)pthread_mutex_lock(&r->mutex);
        memcpy(r->last_head, c->head, c->head_len);
        r->last_head[c->head_len] = '\0';
        (void)pthread_mutex_unlock(&r->mutex);
        (void)atomic_fetch_add(&r->requests, 1);
        c->served++;
        int now = atomic_fetch_add(&r->at_once, 1) + 1, most = atomic_load(&r->most_at_once);

        while (now > most && !atomic_compare_exchange_weak(&r->most_at_once, &most, now)) {
        }
        bool go_on = receiver_serve(c, path);

        (void)atomic_fetch_sub(&r->at_once, 1);
        if (!go_on)
            return;
    }
}

static void *receiver_conn_main(void *arg)
{
    struct receiver_conn *c = arg;

    if (c->receiver->ctx != NULL) {
        c->ssl = SSL_new(c->receiver->ctx);
        (void)SSL_set_fd(c->ssl, c->fd);
    }
    if (c->ssl == NULL || SSL_accept(c->ssl) == 1)
        receiver_talk(c);
    if (c->ssl != NULL) {
        (void)SSL_shutdown(c->ssl);
        SSL_free(c->ssl);
    }
    int fd = c->fd;

    c->fd = -1;
    (void)close(fd);
    return NULL;
}

static void *receiver_main(void *arg)
{
    struct receiver *r = arg;
    int one = 1;

    for (;;) {
        int fd = accept(r->fd, NULL, NULL);

        if (fd < 0 || atomic_load(&r->stopping)) {
            if (fd >= 0)
                (void)close(fd);
            return NULL;
        }
        int at = atomic_load(&r->connections);

        if (at == RECEIVER_CONNECTIONS)
            abort();
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        r->conns[at].receiver = r;
        r->conns[at].fd = fd;
        if (pthread_create(&r->conns[at].thread, NULL, receiver_conn_main, &r->conns[at]) != 0)
            abort();
        (void)atomic_fetch_add(&r->connections, 1);
    }
}

static struct receiver *receiver_start(SSL_CTX *ctx)
{
    struct receiver *r = calloc(1, sizeof *r);
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof a;

    if (r == NULL)
        abort();
    (void)signal(SIGPIPE, SIG_IGN);
    r->ctx = ctx;
    (void)pthread_mutex_init(&r->mutex, NULL);
    r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (r->fd < 0 || bind(r->fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(r->fd, 128) < 0 ||
        getsockname(r->fd, (struct sockaddr *)&a, &len) < 0)
        abort();
    r->port = ntohs(a.sin_port);
    if (pthread_create(&r->thread, NULL, receiver_main, r) != 0)
        abort();
    return r;
}

/* After the client is gone: connections end with it. */
static void receiver_stop(struct receiver *r)
{
    atomic_store(&r->stopping, true);
    (void)shutdown(r->fd, SHUT_RDWR);
    (void)pthread_join(r->thread, NULL);
    for (int i = 0; i < atomic_load(&r->connections); i++)
        (void)pthread_join(r->conns[i].thread, NULL);
    (void)close(r->fd);
    free(r);
}
