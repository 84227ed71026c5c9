#include "base/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/egress.h"
#include "base/network.h"
#include "base/str.h"

enum {
    SLICE_US = 100 * CLOCK_MS, /* how often is_over() is asked */
    ADDRESSES_MOST = 8,        /* of one host that are tried */
};

bool dial_poll(int fd, short events, const struct dial_wait *wait, struct err *err)
{
    for (;;) {
        struct pollfd p = { .fd = fd, .events = events };
        int64_t left_us = wait->until_us - clock_mono_us();

        if (wait->is_over != NULL && wait->is_over(wait->of))
            return err_set(err, ERR_TRANSIENT, ECANCELED, "it is not waited for any more");
        if (left_us <= 0)
            return err_set(err, ERR_TRANSIENT, ETIMEDOUT, "no answer in time");
        int64_t slice = left_us < SLICE_US ? left_us : SLICE_US;
        int n = poll(&p, 1, (int)((slice + CLOCK_MS - 1) / CLOCK_MS));

        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return err_set(err, ERR_TRANSIENT, errno, "poll: %s", strerror(errno));
    }
}

static uint16_t port_of(const struct sockaddr *to)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;

    if (to->sa_family == AF_INET6) {
        memcpy(&six, to, sizeof six);
        return ntohs(six.sin6_port);
    }
    memcpy(&four, to, sizeof four);
    return ntohs(four.sin_port);
}

static const char *dial_bars(const struct egress *egress, const struct sockaddr *to)
{
    char text[NETWORK_ADDRESS_TEXT];
    struct network_address a;
    const char *why = egress_bars(egress, to);

    if (why != NULL || !network_address_of(to, &a))
        return why;
    return egress_bars_own(egress, network_address_text(&a, text), port_of(to), STR(""));
}

/* What became of a connect() that was begun. */
static bool dial_finish(int fd, const struct dial_wait *wait, struct err *err)
{
    int sys = 0;
    socklen_t len = sizeof sys;

    if (!dial_poll(fd, POLLOUT, wait, err))
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &len) < 0)
        sys = errno;
    return sys == 0 || err_set(err, ERR_TRANSIENT, sys, "%s", strerror(sys));
}

static bool dial_one(const struct addrinfo *a, const struct egress *egress,
                     const struct dial_wait *wait, int *ret_fd, struct err *err)
{
    const char *why = dial_bars(egress, a->ai_addr);
    int one = 1;

    if (why != NULL)
        return err_set(err, ERR_TRANSIENT, EACCES, "%s", why);
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);

    if (fd < 0)
        return err_set(err, ERR_TRANSIENT, errno, "%s", strerror(errno));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0 ||
        (errno == EINPROGRESS ? dial_finish(fd, wait, err)
                              : err_set(err, ERR_TRANSIENT, errno, "%s", strerror(errno)))) {
        *ret_fd = fd;
        return true;
    }
    (void)close(fd);
    return false;
}

/* An address that does not answer leaves time for those that follow. */
static struct dial_wait dial_share(const struct dial_wait *wait, const struct addrinfo *a)
{
    int64_t now = clock_mono_us(), left = 1;
    struct dial_wait share = *wait;

    for (const struct addrinfo *next = a->ai_next; next != NULL && left < ADDRESSES_MOST;
         next = next->ai_next)
        left++;
    if (left > 1 && wait->until_us > now)
        share.until_us = now + (wait->until_us - now) / left;
    return share;
}

bool dial(const char *host, uint16_t port, const struct egress *egress,
          const struct dial_wait *wait, int *ret_fd, struct err *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *all;
    struct err last = { 0 };
    bool ok = false;
    char service[8];

    (void)snprintf(service, sizeof service, "%u", (unsigned)port);
    int rc = getaddrinfo(host, service, &hints, &all);

    if (rc != 0)
        return err_set(err, ERR_TRANSIENT, EHOSTUNREACH, "the address of %.100s: %s", host,
                       rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
    int tries = 0;

    for (const struct addrinfo *a = all; a != NULL && !ok && tries < ADDRESSES_MOST;
         a = a->ai_next, tries++) {
        struct dial_wait share = dial_share(wait, a);

        last = (struct err){ 0 };
        ok = dial_one(a, egress, &share, ret_fd, &last);
        if (last.sys == ECANCELED)
            break;
    }
    freeaddrinfo(all);
    return ok || err_set(err, ERR_TRANSIENT, last.sys, "connect to %.80s, port %u: %.100s", host,
                         (unsigned)port, last.text);
}
