#include "base/listen_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"

bool listen_socket_resolve(const char *host, struct addrinfo **ret, struct err *err)
{
    bool every = host == NULL || strcmp(host, "*") == 0;
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    int rc = getaddrinfo(every ? NULL : host, every ? "0" : NULL, &hints, ret);

    return rc == 0 ||
           err_set(err, ERR_CONFIG, 0, "listen on %s: %s", every ? "*" : host, gai_strerror(rc));
}

static bool set_up_socket(int fd, const struct addrinfo *a, uint16_t port, bool shared,
                          struct err *err)
{
    struct sockaddr_storage address = { 0 };
    int one = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* inherited on Linux */
    if (shared)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    if (a->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    memcpy(&address, a->ai_addr, a->ai_addrlen);
    if (a->ai_family == AF_INET6)
        ((struct sockaddr_in6 *)&address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)&address)->sin_port = htons(port);
    if (bind(fd, (const struct sockaddr *)&address, a->ai_addrlen) < 0)
        return err_set(err, ERR_CONFIG, errno, "bind: %s", strerror(errno));
    return true;
}

bool listen_socket_bind(const struct addrinfo *a, uint16_t port, bool shared, int *ret_fd,
                        struct err *err)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return err_set(err, ERR_CONFIG, errno, "socket: %s", strerror(errno));
    if (!set_up_socket(fd, a, port, shared, err)) {
        (void)close(fd);
        return false;
    }
    *ret_fd = fd;
    return true;
}

bool listen_socket_is_free(const struct addrinfo *a, uint16_t port, struct err *err)
{
    AUTO_FD fd = -1;

    return port == 0 || listen_socket_bind(a, port, false, &fd, err);
}

uint16_t listen_socket_port(int fd)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;

    if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
        return 0;
    return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                         : ((struct sockaddr_in *)&a)->sin_port);
}

int listen_socket_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool listen_socket_may_miss(const struct err *err)
{
    return err->sys == EADDRNOTAVAIL || err->sys == EAFNOSUPPORT;
}
