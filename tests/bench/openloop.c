/* openloop.c - offers requests at a fixed rate, whatever the answers do.
 *
 * Request number i is due at start + i / rate.  It goes out on an idle connection; when all are
 * busy it waits for one, and is given up after a second ("unsent": the generator could not offer
 * it; the judge must see few of these).  Latency counts from the send to the last byte of the
 * answer.  Every 2xx goes into the journal (rig/wire.h) with the digest of its body.  With --orders
 * the bodies are those of orders.lua, for the systems s0 to sN-1 in turn, and with --messages they
 * are HL7 messages for these.
 *
 * Usage: openloop --port N --path /in/GATEWAY --rate N --seconds N [--connections N]
 *                 [--journal FILE] [--orders N] [--messages N]
 * The key for "Authorization: Bearer" comes from $WAYBILL_KEY.  Prints one JSON object.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

enum { BODY_BYTES = 1024, HEAD_MAX = 1024, CONNECTIONS_MAX = 4096, STATUS_MAX = 600 };

#define MS         INT64_C(1000000)
#define SECOND     (1000 * MS)
#define GIVE_UP_NS SECOND       /* a due request that finds no idle connection */
#define DRAIN_NS   (5 * SECOND) /* waiting for the last answers */
#define BUCKET_NS  (MS / 10)    /* of the latency histogram */
#define BUCKETS    100000       /* up to 10 s */

enum conn_state { CONN_DOWN, CONN_CONNECTING, CONN_IDLE, CONN_BUSY };

struct conn {
    enum conn_state state;
    int fd;
    struct conn *next_idle;
    uint64_t number; /* of the request on its way */
    int64_t sent_ns, not_before_ns;
    char in[WIRE_IN_MAX];
    size_t in_len;
    char out[HEAD_MAX + BODY_BYTES];
    size_t out_len, out_at;
};

static struct {
    int port, journal, epoll;
    long rate, seconds, connections, orders, messages;
    const char *path, *key;
    struct conn *conns, *idle;
    int64_t start_ns;
    uint64_t due, offered, sent, unsent, answered, broken, connects;
    uint64_t by_status[STATUS_MAX];
    uint64_t latency[BUCKETS];
    int64_t latency_max_ns;
    uint64_t over_second;
} gen = { .connections = 500, .seconds = 10, .journal = -1 };

static void order_fill(const struct conn *conn, char *body)
{
    unsigned long long number = conn->number, systems = (unsigned long long)gen.orders;
    int n =
        snprintf(body, BODY_BYTES,
                 "{\"seq\":\"%010llu\",\"sent\":\"%019lld\",\"from\":\"s%llu\",\"to\":\"s%llu\","
                 "\"kind\":\"t%llu\",\"order\":{\"currency\":\"EUR\",\"lines\":["
                 "{\"sku\":\"A-1001\",\"quantity\":12,\"price\":\"19.90\"},"
                 "{\"sku\":\"B-2040\",\"quantity\":3,\"price\":\"249.00\"}]},\"note\":\"",
                 number, (long long)conn->sent_ns, number / systems % 10, number % systems,
                 number / systems / 10 % 10);
    memset(body + n, 'x', BODY_BYTES - (size_t)n);
    memcpy(body + BODY_BYTES - 2, "\"}", 2);
}

static void message_fill(const struct conn *conn, char *body)
{
    unsigned long long number = conn->number, systems = (unsigned long long)gen.messages;
    int n = snprintf(body, BODY_BYTES,
                     "MSH|^~\\&|LAB|s%llu|EHR|s%llu|20261118080000||ORU^R01|%lld-%llu|P|2.5\r"
                     "NTE|1||",
                     number / systems % 10, number % systems, (long long)gen.start_ns, number);
    memset(body + n, 'x', BODY_BYTES - (size_t)n);
    body[BODY_BYTES - 1] = '\r';
}

/* From what the connection knows about its request: the journal asks for the same bytes again. */
static void body_fill(const struct conn *conn, char *body)
{
    if (gen.orders > 0) {
        order_fill(conn, body);
        return;
    }
    if (gen.messages > 0) {
        message_fill(conn, body);
        return;
    }
    memset(body, 'x', BODY_BYTES);
    int n = snprintf(body, BODY_BYTES, "request %llu of %lld\n", (unsigned long long)conn->number,
                     (long long)gen.start_ns);
    body[n] = '.';
}

static void watch(struct conn *conn, int op, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = conn };

    if (epoll_ctl(gen.epoll, op, conn->fd, &event) < 0)
        abort();
}

static void conn_idle(struct conn *conn)
{
    conn->state = CONN_IDLE;
    conn->in_len = 0;
    conn->next_idle = gen.idle;
    gen.idle = conn;
}

/* The idle list may hold connections that went down since: they are skipped when taken. */
static struct conn *idle_take(void)
{
    while (gen.idle != NULL) {
        struct conn *conn = gen.idle;
        gen.idle = conn->next_idle;
        if (conn->state == CONN_IDLE)
            return conn;
    }
    return NULL;
}

static void idle_remove(const struct conn *conn)
{
    for (struct conn **at = &gen.idle; *at != NULL; at = &(*at)->next_idle)
        if (*at == conn) {
            *at = conn->next_idle;
            return;
        }
}

static void conn_connect(struct conn *conn, int64_t now)
{
    conn->fd = wire_connect(gen.port);
    if (conn->fd < 0) {
        conn->not_before_ns = now + 5 * MS;
        return;
    }
    gen.connects++;
    conn->state = CONN_CONNECTING;
    watch(conn, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
}

static void conn_down(struct conn *conn, int64_t now, bool at_once)
{
    if (conn->state == CONN_BUSY)
        gen.broken++;
    if (conn->state == CONN_IDLE)
        idle_remove(conn);
    (void)close(conn->fd);
    conn->fd = -1;
    conn->in_len = 0;
    conn->state = CONN_DOWN;
    conn->not_before_ns = at_once ? now : now + 5 * MS;
    if (at_once)
        conn_connect(conn, now);
}

static void conn_write(struct conn *conn, int64_t now)
{
    ssize_t n =
        send(conn->fd, conn->out + conn->out_at, conn->out_len - conn->out_at, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN) {
        conn_down(conn, now, false);
        return;
    }
    conn->out_at += n > 0 ? (size_t)n : 0;
    if (conn->out_at < conn->out_len)
        watch(conn, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
}

static void conn_send(struct conn *conn, int64_t now)
{
    int n = snprintf(conn->out, HEAD_MAX,
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
                     "Content-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n",
                     gen.path, gen.port, gen.key, BODY_BYTES);
    conn->number = gen.sent++;
    conn->sent_ns = now;
    body_fill(conn, conn->out + n);
    conn->out_len = (size_t)n + BODY_BYTES;
    conn->out_at = 0;
    conn->state = CONN_BUSY;
    conn_write(conn, now);
}

static void journal_accepted(const struct conn *conn, const struct wire_answer *answer, int64_t now)
{
    char body[BODY_BYTES], sha256[65];

    body_fill(conn, body);
    wire_sha256(body, sizeof body, sha256);
    wire_journal(gen.journal, "S o%llu %s %d %lld\nA o%llu %d %s %lld\n",
                 (unsigned long long)conn->number, sha256, BODY_BYTES, (long long)conn->sent_ns,
                 (unsigned long long)conn->number, answer->status, answer->id, (long long)now);
}

static void conn_answered(struct conn *conn, const struct wire_answer *answer)
{
    int64_t now = wire_now_ns(), took = now - conn->sent_ns;
    int64_t bucket = took / BUCKET_NS;

    gen.answered++;
    gen.by_status[answer->status > 0 && answer->status < STATUS_MAX ? answer->status : 0]++;
    gen.latency[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    gen.latency_max_ns = took > gen.latency_max_ns ? took : gen.latency_max_ns;
    gen.over_second += took > SECOND;
    if (answer->status / 100 == 2 && gen.journal >= 0)
        journal_accepted(conn, answer, now);
    bool half_sent = conn->out_at < conn->out_len;
    conn->state = CONN_CONNECTING; /* neither idle nor busy */
    if (answer->close || half_sent)
        conn_down(conn, now, true);
    else
        conn_idle(conn);
}

static void conn_event(struct conn *conn, uint32_t events, int64_t now)
{
    struct wire_answer answer;

    if (conn->state == CONN_CONNECTING && (events & EPOLLOUT) && !(events & EPOLLERR)) {
        watch(conn, EPOLL_CTL_MOD, EPOLLIN);
        conn_idle(conn);
        return;
    }
    if (conn->state == CONN_BUSY && (events & EPOLLOUT)) {
        watch(conn, EPOLL_CTL_MOD, EPOLLIN);
        conn_write(conn, now);
        if (conn->state != CONN_BUSY)
            return;
    }
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        return;
    ssize_t n = recv(conn->fd, conn->in + conn->in_len, sizeof conn->in - conn->in_len, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        conn_down(conn, now, conn->state == CONN_IDLE);
        return;
    }
    conn->in_len += (size_t)n;
    int got = wire_parse(conn->in, conn->in_len, &answer);
    if (got < 0 || (got > 0 && conn->state != CONN_BUSY))
        conn_down(conn, now, false);
    else if (got > 0)
        conn_answered(conn, &answer);
}

/* Sends what is due.  Requests that could not start within a second are given up. */
static void drive(int64_t now)
{
    uint64_t due = (uint64_t)((double)(now - gen.start_ns) * (double)gen.rate / 1e9);
    uint64_t all = (uint64_t)gen.rate * (uint64_t)gen.seconds;
    uint64_t backlog = (uint64_t)((double)gen.rate * (double)GIVE_UP_NS / 1e9);
    struct conn *conn;

    gen.due = due < all ? due : all;
    while (gen.offered < gen.due && (conn = idle_take()) != NULL) {
        gen.offered++;
        conn_send(conn, wire_now_ns());
    }
    if (gen.due - gen.offered > backlog) {
        gen.unsent += gen.due - gen.offered - backlog;
        gen.offered = gen.due - backlog;
    }
    for (long i = 0; i < gen.connections; i++)
        if (gen.conns[i].state == CONN_DOWN && now >= gen.conns[i].not_before_ns)
            conn_connect(&gen.conns[i], now);
}

static bool round_of_events(int timeout_ms)
{
    static struct epoll_event events[512];
    int n = epoll_wait(gen.epoll, events, 512, timeout_ms);
    int64_t now = wire_now_ns();

    for (int i = 0; i < n; i++) {
        struct conn *conn = events[i].data.ptr;
        if (conn->fd >= 0)
            conn_event(conn, events[i].events, now);
    }
    return n > 0;
}

static double percentile_ms(double share)
{
    uint64_t want = (uint64_t)((double)gen.answered * share), seen = 0;

    for (int i = 0; i < BUCKETS; i++) {
        seen += gen.latency[i];
        if (seen > want)
            return (double)(i + 1) * (double)BUCKET_NS / 1e6;
    }
    return 0;
}

static void print_counts(const uint64_t *counts, int count)
{
    const char *comma = "";

    for (int i = 0; i < count; i++)
        if (counts[i] > 0) {
            (void)printf("%s\"%d\":%llu", comma, i, (unsigned long long)counts[i]);
            comma = ",";
        }
}

static void report(int64_t took_ns)
{
    uint64_t unanswered = 0;

    for (long i = 0; i < gen.connections; i++)
        unanswered += gen.conns[i].state == CONN_BUSY;
    (void)printf(
        "{\"seconds\":%.3f,\"scheduled\":%llu,\"sent\":%llu,\"unsent\":%llu,"
        "\"answered\":%llu,\"unanswered\":%llu,\"broken\":%llu,\"connects\":%llu,"
        "\"over_second\":%llu,\"p50_ms\":%.2f,\"p99_ms\":%.2f,\"max_ms\":%.2f,\"status\":{",
        (double)took_ns / 1e9, (unsigned long long)gen.due, (unsigned long long)gen.sent,
        (unsigned long long)(gen.unsent + gen.due - gen.offered), (unsigned long long)gen.answered,
        (unsigned long long)unanswered, (unsigned long long)gen.broken,
        (unsigned long long)gen.connects, (unsigned long long)gen.over_second, percentile_ms(0.5),
        percentile_ms(0.99), (double)gen.latency_max_ns / 1e6);
    print_counts(gen.by_status, STATUS_MAX);
    (void)printf("},\"latency\":{"); /* how many took up to so many steps of 0.1 ms */
    print_counts(gen.latency, BUCKETS);
    (void)printf("}}\n");
}

static void options_read(int argc, char **argv)
{
    static const struct option options[] = {
        { "port", 1, NULL, 'p' },    { "path", 1, NULL, 'u' },        { "rate", 1, NULL, 'r' },
        { "seconds", 1, NULL, 's' }, { "connections", 1, NULL, 'c' }, { "journal", 1, NULL, 'j' },
        { "orders", 1, NULL, 'o' },  { "messages", 1, NULL, 'm' },    { 0 },
    };
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (c) {
        case 'p':
            gen.port = (int)wire_number("--port", optarg, 1, 65535);
            break;
        case 'u':
            gen.path = optarg;
            break;
        case 'r':
            gen.rate = wire_number("--rate", optarg, 1, 1000000);
            break;
        case 's':
            gen.seconds = wire_number("--seconds", optarg, 1, 3600);
            break;
        case 'c':
            gen.connections = wire_number(argv[0], optarg, 1, CONNECTIONS_MAX);
            break;
        case 'j':
            gen.journal = wire_journal_open(optarg);
            break;
        case 'o':
            gen.orders = wire_number("--orders", optarg, 1, 10);
            break;
        case 'm':
            gen.messages = wire_number("--messages", optarg, 1, 10);
            break;
        default:
            exit(2);
        }
    }
    gen.key = getenv("WAYBILL_KEY");
    if (gen.port == 0 || gen.path == NULL || gen.rate == 0 || gen.key == NULL ||
        strlen(gen.path) + strlen(gen.key) > HEAD_MAX / 2) {
        (void)fprintf(stderr, "openloop: --port, --path, --rate and $WAYBILL_KEY are needed\n");
        exit(2);
    }
}

/* All connections stand before the clock starts: connecting is not what is measured. */
static bool connect_all(void)
{
    int64_t until = wire_now_ns() + 10 * SECOND;
    long ready = 0;

    for (long i = 0; i < gen.connections; i++) {
        gen.conns[i].fd = -1;
        conn_connect(&gen.conns[i], wire_now_ns());
    }
    while (ready < gen.connections && wire_now_ns() < until) {
        (void)round_of_events(10);
        ready = 0;
        for (long i = 0; i < gen.connections; i++)
            ready += gen.conns[i].state == CONN_IDLE;
    }
    gen.connects = 0;
    return ready == gen.connections;
}

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN);
    options_read(argc, argv);
    gen.epoll = epoll_create1(EPOLL_CLOEXEC);
    gen.conns = calloc((size_t)gen.connections, sizeof *gen.conns);
    if (gen.epoll < 0 || gen.conns == NULL)
        abort();
    if (!connect_all()) {
        (void)fprintf(stderr, "openloop: the server does not take %ld connections\n",
                      gen.connections);
        return 69;
    }
    gen.start_ns = wire_now_ns();
    int64_t end = gen.start_ns + gen.seconds * SECOND;
    while (wire_now_ns() < end) {
        drive(wire_now_ns());
        (void)round_of_events(1);
    }
    int64_t took = wire_now_ns() - gen.start_ns;
    for (int64_t until = end + DRAIN_NS;
         wire_now_ns() < until && gen.answered + gen.broken < gen.sent;)
        (void)round_of_events(10);
    report(took);
    return 0;
}
