/* mllp_load.c - HL7 messages over MLLP: each connection sends the next one when the last is
 * acknowledged.
 *
 * A message has 1 KiB and a control id of its own.  Its acknowledgement must be a whole frame with
 * AA and that control id; anything else, a connection that ends, and silence for SILENCE_NS end
 * the program with exit code 1 and a sentence.
 *
 * Usage: mllp_load --port N --seconds N [--connections N]
 * Prints one JSON object: messages acknowledged, and how long that took each.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

enum {
    MESSAGE_BYTES = 1024,
    FRAME_BYTES = MESSAGE_BYTES + 3,
    ACK_MAX = 4096,
    CONNECTIONS_MAX = 1024
};

#define SECOND     INT64_C(1000000000)
#define SILENCE_NS (30 * SECOND)
#define BUCKET_NS  (SECOND / 100000) /* of the latency histogram: 10 us */
#define BUCKETS    100000            /* up to a second */

struct conn {
    int fd;
    bool up;
    int64_t sent_ns;
    char control[32];
    char out[FRAME_BYTES];
    size_t out_at; /* FRAME_BYTES: all of it is sent */
    char in[ACK_MAX];
    size_t in_len;
};

static struct {
    int port, epoll;
    long seconds, connections;
    struct conn *conns;
    int64_t run, end_ns, heard_ns;
    uint64_t sent, acked, waiting;
    uint64_t latency[BUCKETS];
} gen = { .connections = 16, .seconds = 5 };

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *format, ...)
{
    va_list args;

    (void)fputs("mllp_load: ", stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

static void watch(struct conn *conn, int op, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = conn };

    if (epoll_ctl(gen.epoll, op, conn->fd, &event) < 0)
        fail("epoll: %s", strerror(errno));
}

/* ---- a message ---- */

static void message_fill(struct conn *conn)
{
    char *at = conn->out;

    (void)snprintf(conn->control, sizeof conn->control, "%llx-%llu", (unsigned long long)gen.run,
                   (unsigned long long)gen.sent++);
    int n = snprintf(at, MESSAGE_BYTES,
                     "\x0bMSH|^~\\&|LAB|HOSP|EHR|CLINIC|20260101120000||ORU^R01^ORU_R01|%s|P|2.5\r"
                     "PID|1||4711^^^HOSP^MR||Doe^Jane||19700101|F\r"
                     "OBR|1||20260101-17|718-7^Hemoglobin^LN|||20260101115500\r"
                     "OBX|1|NM|718-7^Hemoglobin^LN||13.2|g/dL|12.0-16.0|N|||F\r"
                     "NTE|1|L|",
                     conn->control);

    memset(at + n, 'x', (size_t)(1 + MESSAGE_BYTES - n));
    memcpy(at + MESSAGE_BYTES, "\r\x1c\r", 3);
    conn->out_at = 0;
    conn->in_len = 0;
}

static void message_write(struct conn *conn)
{
    ssize_t n = send(conn->fd, conn->out + conn->out_at, FRAME_BYTES - conn->out_at, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN)
        fail("a connection broke: %s", strerror(errno));
    conn->out_at += n > 0 ? (size_t)n : 0;
    watch(conn, EPOLL_CTL_MOD, conn->out_at < FRAME_BYTES ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void message_send(struct conn *conn)
{
    message_fill(conn);
    conn->sent_ns = wire_now_ns();
    gen.waiting++;
    ssize_t n = send(conn->fd, conn->out, FRAME_BYTES, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN)
        fail("a connection broke: %s", strerror(errno));
    conn->out_at = n > 0 ? (size_t)n : 0;
    if (conn->out_at < FRAME_BYTES)
        watch(conn, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
}

/* ---- its acknowledgement ---- */

static void ack_check(const struct conn *conn)
{
    char wanted[64];
    int n = snprintf(wanted, sizeof wanted, "\rMSA|AA|%s\r", conn->control);

    if (conn->in[0] != '\x0b' || memmem(conn->in, conn->in_len, wanted, (size_t)n) == NULL)
        fail("message %s is not acknowledged by: %.*s", conn->control, (int)conn->in_len,
             conn->in + 1);
    if (conn->out_at < FRAME_BYTES)
        fail("message %s is acknowledged before all of it was sent", conn->control);
}

static void ack_read(struct conn *conn)
{
    ssize_t n = recv(conn->fd, conn->in + conn->in_len, ACK_MAX - conn->in_len, 0);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        fail("a connection was closed before message %s was acknowledged", conn->control);
    conn->in_len += (size_t)n;
    const char *end = memmem(conn->in, conn->in_len, "\x1c\r", 2);

    if (end == NULL && conn->in_len == ACK_MAX)
        fail("an acknowledgement has no end");
    if (end == NULL)
        return;
    if (end + 2 != conn->in + conn->in_len)
        fail("something follows the acknowledgement of message %s", conn->control);
    int64_t now = wire_now_ns(), bucket = (now - conn->sent_ns) / BUCKET_NS;

    ack_check(conn);
    gen.heard_ns = now;
    gen.acked++;
    gen.waiting--;
    gen.latency[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    if (now < gen.end_ns)
        message_send(conn);
}

/* ---- the run ---- */

static void on_event(struct conn *conn, uint32_t events)
{
    if (!conn->up) {
        if (events & (EPOLLERR | EPOLLHUP))
            fail("nobody listens on port %d", gen.port);
        conn->up = true;
        watch(conn, EPOLL_CTL_MOD, EPOLLIN);
        return;
    }
    if (events & EPOLLOUT)
        message_write(conn);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        ack_read(conn);
}

static void round_of_events(void)
{
    static struct epoll_event events[CONNECTIONS_MAX];
    int n = epoll_wait(gen.epoll, events, CONNECTIONS_MAX, 1000);

    for (int i = 0; i < n; i++)
        on_event(events[i].data.ptr, events[i].events);
    if (n <= 0 && wire_now_ns() - gen.heard_ns > SILENCE_NS)
        fail("nothing was acknowledged for %d s", (int)(SILENCE_NS / SECOND));
}

/* All connections stand before the clock starts: connecting is not what is measured. */
static void connect_all(void)
{
    long up = 0;

    gen.heard_ns = wire_now_ns();
    for (long i = 0; i < gen.connections; i++) {
        gen.conns[i].fd = wire_connect(gen.port);
        if (gen.conns[i].fd < 0)
            fail("no connection to port %d: %s", gen.port, strerror(errno));
        watch(&gen.conns[i], EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
    }
    while (up < gen.connections) {
        round_of_events();
        up = 0;
        for (long i = 0; i < gen.connections; i++)
            up += gen.conns[i].up;
    }
}

static double percentile_ms(double share)
{
    uint64_t want = (uint64_t)((double)gen.acked * share), seen = 0;

    for (int i = 0; i < BUCKETS; i++) {
        seen += gen.latency[i];
        if (seen > want)
            return (double)(i + 1) * (double)BUCKET_NS / 1e6;
    }
    return 0;
}

static void options_read(int argc, char **argv)
{
    static const struct option options[] = {
        { "port", 1, NULL, 'p' },
        { "seconds", 1, NULL, 's' },
        { "connections", 1, NULL, 'c' },
        { 0 },
    };
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (c) {
        case 'p':
            gen.port = (int)wire_number("--port", optarg, 1, 65535);
            break;
        case 's':
            gen.seconds = wire_number("--seconds", optarg, 1, 3600);
            break;
        case 'c':
            gen.connections = wire_number("--connections", optarg, 1, CONNECTIONS_MAX);
            break;
        default:
            exit(2);
        }
    }
    if (gen.port == 0) {
        (void)fprintf(stderr, "mllp_load: --port is needed\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN);
    options_read(argc, argv);
    gen.epoll = epoll_create1(EPOLL_CLOEXEC);
    gen.conns = calloc((size_t)gen.connections, sizeof *gen.conns);
    if (gen.epoll < 0 || gen.conns == NULL)
        fail("no memory, or no epoll");
    connect_all();
    gen.run = gen.heard_ns = wire_now_ns();
    gen.end_ns = gen.run + gen.seconds * SECOND;
    for (long i = 0; i < gen.connections; i++)
        message_send(&gen.conns[i]);
    while (gen.waiting > 0)
        round_of_events();
    double took_s = (double)(gen.heard_ns - gen.run) / 1e9;

    (void)printf("{\"seconds\":%.3f,\"acked\":%llu,\"per_second\":%.1f,\"p50_ms\":%.2f,"
                 "\"p99_ms\":%.2f}\n",
                 took_s, (unsigned long long)gen.acked, (double)gen.acked / took_s,
                 percentile_ms(0.5), percentile_ms(0.99));
    return 0;
}
