/* catcher.c - receivers that write down every request before they answer it.
 *
 * One epoll thread, keep-alive, bodies of any size.  Each port is one receiver with a name and a
 * mood: `well` answers 200, `never` 422, `shaky` goes through phases while it is told to: well,
 * busy (503 with and without Retry-After, 500, a connection that ends without an answer) and away
 * (its port is closed).  The phases come from the seed and the clock.  `exact` is a shaky one that
 * remembers the keys of what it took: all but what it answered with 503, whether it says so or not.
 * A GET or HEAD asks it for a key: 200 or 404.
 *
 * Usage: catcher --log FILE --seed N NAME=PORT[=MOOD]...     prints "ready" when it listens
 * Commands on stdin, one per line, each answered with "ok": shake, heal.  The end of stdin ends
 * it.
 *
 * Format of the log (text, one line per request, in the order in which they were complete)
 *   R NAME DOCUMENT DELIVERY SHA256 SIZE STATUS TIME    STATUS is what it will answer, 0: nothing
 *   T NAME DOCUMENT DELIVERY - SIZE 0 TIME              a request that ended before its end
 *   Q NAME DOCUMENT DELIVERY - 0 STATUS TIME            a question
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

enum { PORTS_MAX = 8, BUF_BYTES = 64 << 10, NAME_BYTES = 128, EVENTS = 256, TICK_MS = 20 };
enum { KIND_STDIN, KIND_PORT, KIND_CONN };
enum mood { MOOD_WELL, MOOD_NEVER, MOOD_SHAKY, MOOD_EXACT };
enum phase { PHASE_WELL, PHASE_BUSY, PHASE_AWAY };

#define MS INT64_C(1000000)

struct port {
    int kind, fd; /* kind is first in whatever epoll points to; fd -1: away */
    int number;
    char name[32];
    enum mood mood;
    enum phase phase;
    int64_t until_ns;
    struct conn *conns;
};

struct conn {
    int kind, fd;
    struct port *port;
    struct conn *next, **at; /* of the port */
    bool in_body, asks;
    size_t left, size; /* of the body */
    EVP_MD_CTX *digest;
    char document[NAME_BYTES], delivery[NAME_BYTES];
    size_t have;
    char buf[BUF_BYTES];
};

static int epoll_fd, log_fd, kind_stdin = KIND_STDIN;
static struct port ports[PORTS_MAX];
static size_t port_count;
static uint64_t dice;
static bool shaking;

/* Hashes of keys, 0: free; doubled when it is half full. */
static uint64_t *known;
static size_t known_slots, known_count;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t below(uint64_t n)
{
    return wire_random(&dice) % n;
}

static void watch(int fd, void *what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        fail("epoll");
}

/* ---- keys ---- */

static uint64_t hash_of(const char *key)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (; *key != '\0'; key++)
        h = (h ^ (unsigned char)*key) * UINT64_C(0x100000001b3);
    return h != 0 ? h : 1;
}

static uint64_t *key_slot(uint64_t h)
{
    size_t i = (size_t)h % known_slots;

    while (known[i] != 0 && known[i] != h)
        i = (i + 1) % known_slots;
    return &known[i];
}

static bool key_known(const char *key)
{
    return known_slots > 0 && *key_slot(hash_of(key)) != 0;
}

static void key_keep(const char *key)
{
    if (known_count * 2 >= known_slots) {
        uint64_t *old = known;
        size_t slots = known_slots;

        known_slots = slots > 0 ? slots * 2 : 1024;
        known = calloc(known_slots, sizeof *known);
        if (known == NULL)
            abort();
        for (size_t i = 0; i < slots; i++)
            if (old[i] != 0)
                *key_slot(old[i]) = old[i];
        free(old);
    }
    uint64_t *slot = key_slot(hash_of(key));

    known_count += *slot == 0;
    *slot = hash_of(key);
}

/* ---- requests ---- */

static void note(const struct conn *c, const char *sha256, int status)
{
    const char *event = c->asks ? "Q" : sha256 != NULL ? "R" : "T";

    wire_journal(log_fd, "%s %s %s %s %s %zu %d %lld\n", event, c->port->name, c->document,
                 c->delivery, sha256 != NULL ? sha256 : "-", c->size, status,
                 (long long)wire_now_ns());
}

static void conn_close(struct conn *c)
{
    if (c->in_body)
        note(c, NULL, 0);
    (void)close(c->fd);
    *c->at = c->next;
    if (c->next != NULL)
        c->next->at = c->at;
    EVP_MD_CTX_free(c->digest);
    free(c);
}

static void copy_header(const char *head, const char *name, char ret[NAME_BYTES])
{
    const char *found = strcasestr(head, name);

    (void)snprintf(ret, NAME_BYTES, "-");
    if (found == NULL)
        return;
    found += strlen(name);
    found += strspn(found, " ");
    size_t n = strcspn(found, " \r\n");
    if (n > 0 && n < NAME_BYTES)
        (void)snprintf(ret, NAME_BYTES, "%.*s", (int)n, found);
}

/* False: there is no whole head in the buffer yet. */
static bool head_take(struct conn *c)
{
    char *end = memmem(c->buf, c->have, "\r\n\r\n", 4);

    if (end == NULL)
        return false;
    *end = '\0';
    const char *length = strcasestr(c->buf, "\r\nContent-Length:");
    size_t head = (size_t)(end + 4 - c->buf);

    c->size = c->left = length != NULL ? strtoul(length + 17, NULL, 10) : 0;
    c->asks = strncmp(c->buf, "GET ", 4) == 0 || strncmp(c->buf, "HEAD ", 5) == 0;
    copy_header(c->buf, "\r\nWaybill-Document:", c->document);
    copy_header(c->buf, "\r\nIdempotency-Key:", c->delivery);
    c->have -= head;
    memmove(c->buf, c->buf + head, c->have);
    c->in_body = true;
    if (EVP_DigestInit_ex(c->digest, EVP_sha256(), NULL) != 1)
        abort();
    return true;
}

/* 0: the connection ends without one. */
static int pick_status(const struct port *p)
{
    if (p->mood == MOOD_NEVER)
        return 422;
    if (p->phase != PHASE_BUSY)
        return 200;
    uint64_t n = below(100);

    return n < 35 ? 503 : n < 40 ? 500 : n < 50 ? 0 : 200;
}

/* False: the connection is gone. */
static bool answer(struct conn *c, int status)
{
    char text[160];
    const char *later = status == 503 && below(4) == 0 ? "Retry-After: 1\r\n" : "";
    int n =
        snprintf(text, sizeof text, "HTTP/1.1 %d So\r\n%sContent-Length: 0\r\n\r\n", status, later);

    if (status != 0 && send(c->fd, text, (size_t)n, MSG_NOSIGNAL) == n)
        return true;
    conn_close(c);
    return false;
}

static bool request_end(struct conn *c)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    char hex[65];
    unsigned int n = 0;
    int status = c->asks ? (key_known(c->delivery) ? 200 : 404) : pick_status(c->port);

    if (EVP_DigestFinal_ex(c->digest, sum, &n) != 1 || n != 32)
        abort();
    for (unsigned int i = 0; i < n; i++)
        (void)snprintf(hex + (size_t)2 * i, 3, "%02x", sum[i]);
    note(c, c->asks ? NULL : hex, status);
    if (c->port->mood == MOOD_EXACT && !c->asks && status != 503)
        key_keep(c->delivery);
    c->in_body = false;
    return answer(c, status);
}

static void conn_parse(struct conn *c)
{
    for (;;) {
        if (!c->in_body && !head_take(c)) {
            if (c->have == BUF_BYTES)
                conn_close(c); /* no head is that large */
            return;
        }
        size_t n = c->have < c->left ? c->have : c->left;

        if (EVP_DigestUpdate(c->digest, c->buf, n) != 1)
            abort();
        c->left -= n;
        c->have -= n;
        memmove(c->buf, c->buf + n, c->have);
        if (c->left > 0 || !request_end(c))
            return;
    }
}

static void conn_read(struct conn *c)
{
    ssize_t n = recv(c->fd, c->buf + c->have, BUF_BYTES - c->have, 0);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        conn_close(c);
        return;
    }
    c->have += (size_t)n;
    conn_parse(c);
}

/* ---- ports ---- */

static void port_open(struct port *p)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)p->number),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int one = 1;

    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(p->fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(p->fd, 1024) < 0)
        fail(p->name);
    watch(p->fd, p);
}

static void port_close(struct port *p)
{
    (void)close(p->fd);
    p->fd = -1;
    while (p->conns != NULL)
        conn_close(p->conns);
}

static void port_accept(struct port *p)
{
    int fd, one = 1;

    while ((fd = accept4(p->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct conn *c = calloc(1, sizeof *c);
        if (c == NULL || (c->digest = EVP_MD_CTX_new()) == NULL)
            abort();
        c->kind = KIND_CONN;
        c->fd = fd;
        c->port = p;
        c->next = p->conns;
        c->at = &p->conns;
        if (c->next != NULL)
            c->next->at = &c->next;
        p->conns = c;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        watch(fd, c);
    }
}

static void port_enter(struct port *p, enum phase phase, int64_t now)
{
    p->phase = phase;
    p->until_ns = now + (300 + (int64_t)below(phase == PHASE_AWAY ? 1700 : 1200)) * MS;
    if (phase == PHASE_AWAY && p->fd >= 0)
        port_close(p);
    else if (phase != PHASE_AWAY && p->fd < 0)
        port_open(p);
}

/* Well and in trouble in turn. */
static void shake(int64_t now)
{
    for (struct port *p = ports; p < ports + port_count; p++) {
        if ((p->mood != MOOD_SHAKY && p->mood != MOOD_EXACT) || now < p->until_ns)
            continue;
        if (p->phase != PHASE_WELL)
            port_enter(p, PHASE_WELL, now);
        else
            port_enter(p, below(3) == 0 ? PHASE_AWAY : PHASE_BUSY, now);
    }
}

static void heal(int64_t now)
{
    for (struct port *p = ports; p < ports + port_count; p++)
        if (p->phase != PHASE_WELL)
            port_enter(p, PHASE_WELL, now);
}

/* ---- start ---- */

static void read_command(void)
{
    char line[64];
    ssize_t n = read(STDIN_FILENO, line, sizeof line - 1);

    if (n <= 0)
        exit(0);
    line[n] = '\0';
    shaking = strcmp(line, "shake\n") == 0;
    if (!shaking)
        heal(wire_now_ns());
    (void)puts("ok");
    (void)fflush(stdout);
}

static void port_read(const char *word)
{
    static const char *const moods[] = { "well", "never", "shaky", "exact" };
    struct port *p = &ports[port_count++];
    char mood[16] = "well";

    *p = (struct port){ .kind = KIND_PORT, .fd = -1 };
    if (sscanf(word, "%31[^=]=%d=%15s", p->name, &p->number, mood) < 2) {
        (void)fprintf(stderr, "catcher: NAME=PORT[=MOOD] is wanted, not \"%s\"\n", word);
        exit(2);
    }
    while (strcmp(mood, moods[p->mood]) != 0)
        if (p->mood++ == MOOD_EXACT) {
            (void)fprintf(stderr, "catcher: no mood %s\n", mood);
            exit(2);
        }
    port_open(p);
}

/* A connection may be closed by an event before its own in the same round: only phases close
 * others, and they change between rounds. */
static void run(void)
{
    static struct epoll_event events[EVENTS];

    for (;;) {
        int n = epoll_wait(epoll_fd, events, EVENTS, shaking ? TICK_MS : -1);
        bool asked = false;
        for (int i = 0; i < n; i++) {
            const int *kind = events[i].data.ptr;
            if (*kind == KIND_CONN)
                conn_read(events[i].data.ptr);
            else if (*kind == KIND_PORT)
                port_accept(events[i].data.ptr);
            else
                asked = true;
        }
        if (asked)
            read_command();
        if (shaking)
            shake(wire_now_ns());
    }
}

int main(int argc, char **argv)
{
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc < 6 || argc - 5 > PORTS_MAX || strcmp(argv[1], "--log") != 0 ||
        strcmp(argv[3], "--seed") != 0) {
        (void)fprintf(stderr, "usage: catcher --log FILE --seed N NAME=PORT[=MOOD]...\n");
        return 2;
    }
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    log_fd = wire_journal_open(argv[2]);
    dice = (uint64_t)wire_number("--seed", argv[4], 1, INT32_MAX) * UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 5; i < argc; i++)
        port_read(argv[i]);
    watch(STDIN_FILENO, &kind_stdin);
    (void)puts("ready");
    (void)fflush(stdout);
    run();
}
