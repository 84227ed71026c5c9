/* TCP connections with an end to every wait. */
#include "base/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/egress.h"
#include "test.h"

enum { LONG_US = 60 * CLOCK_S, SHORT_US = 50 * CLOCK_MS };

static struct dial_wait within(int64_t us)
{
    return (struct dial_wait){ .until_us = clock_mono_us() + us };
}

static int listen_here(uint16_t *ret_port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(fd, (const struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 8) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) < 0)
        return -1;
    *ret_port = ntohs(a.sin_port);
    return fd;
}

TEST(a_host_is_connected_to)
{
    uint16_t port = 0;
    AUTO_FD server = listen_here(&port);
    struct dial_wait wait = within(LONG_US);
    struct err err = { 0 };
    int fd = -1;

    CHECK(server >= 0 && dial("localhost", port, NULL, &wait, &fd, &err));
    AUTO_FD client = fd;
    AUTO_FD peer = accept(server, NULL, NULL);

    CHECK(peer >= 0 && (fcntl(client, F_GETFL) & O_NONBLOCK) != 0);
    CHECK((fcntl(client, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK(dial_poll(client, POLLOUT, &wait, &err));
    wait = within(SHORT_US);
    CHECK(!dial_poll(client, POLLIN, &wait, &err) && err.sys == ETIMEDOUT);
    CHECK(write(peer, "x", 1) == 1);
    wait = within(LONG_US);
    err = (struct err){ 0 };
    CHECK(dial_poll(client, POLLIN, &wait, &err));
}

TEST(a_refusal_names_the_host)
{
    uint16_t port = 0;
    int fd = listen_here(&port);
    struct dial_wait wait = within(LONG_US);
    struct err err = { 0 };

    CHECK(fd >= 0 && close(fd) == 0); /* nobody listens there any more */
    CHECK(!dial("127.0.0.1", port, NULL, &wait, &fd, &err));
    CHECK(err.kind == ERR_TRANSIENT && err.sys == ECONNREFUSED);
    CHECK(strstr(err.text, "127.0.0.1") != NULL);
    err = (struct err){ 0 };
    CHECK(!dial("no-such-host.invalid", 22, NULL, &wait, &fd, &err));
    CHECK(err.kind == ERR_TRANSIENT && strstr(err.text, "no-such-host.invalid") != NULL);
}

TEST(where_nothing_is_sent_is_not_connected_to)
{
    struct egress egress = { 0 };
    struct dial_wait wait = within(LONG_US);
    struct err err = { 0 };
    int fd;

    CHECK(!dial("169.254.169.254", 22, &egress, &wait, &fd, &err));
    CHECK(err.sys == EACCES && strstr(err.text, "link-local") != NULL);
}

static bool is_over(const void *of)
{
    return *(const bool *)of;
}

TEST(who_is_not_waited_for_ends_soon)
{
    static const bool over = true;
    uint16_t port = 0;
    AUTO_FD server = listen_here(&port);
    struct dial_wait wait = { .until_us = INT64_MAX, .is_over = is_over, .of = &over };
    struct err err = { 0 };

    CHECK(server >= 0 && !dial_poll(server, POLLIN, &wait, &err) && err.sys == ECANCELED);
}

int main(void)
{
    return test_main();
}
