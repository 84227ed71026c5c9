/* receiver.c - the systems at the other end: takes documents over HTTP and remembers when.
 *
 * One epoll thread, keep-alive, an answer at once.  Each port is one system with a mood of its own:
 *
 *   PORT              200 at once
 *   PORT=dead         the port is taken, but connections are refused
 *   PORT=slow         reads one byte a second
 *   PORT=delay:MS     200, so many milliseconds later
 *   PORT=status:N     another status than 200
 *
 * A body of the benchmark starts with {"seq":"NUMBER","sent":"NANOSECONDS", of CLOCK_MONOTONIC:
 * sender and receiver are on one machine, so that the difference is the time on the road.  A
 * number that comes twice is counted under "again", too.  Other bodies are counted only.
 *
 * Usage: receiver [--log FILE] PORT[=MOOD]...    prints "ready" when it listens
 * Then it answers lines on stdin, each with one line; the end of stdin ends it:
 *   count   how many requests came, over all ports
 *   reset   forgets everything
 *   stats   a JSON array, one object per port: port count again first_ns last_ns p50_ms p99_ms
 * The log has 24 bytes per request: port and number, sent_ns, arrived_ns (struct record).
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

enum { PORTS_MAX = 64, READ_MAX = 65536, EVENTS = 512, ANSWER_MAX = 128 };
enum { SAMPLES_MAX = 1 << 24, SEQ_MAX = 1 << 26 };
enum { KIND_STDIN, KIND_LISTEN, KIND_CONN };
enum mood { MOOD_OK, MOOD_DEAD, MOOD_SLOW, MOOD_DELAY };

#define MS INT64_C(1000000)

struct system {
    int kind, fd; /* kind is first in whatever epoll points to */
    int port;
    enum mood mood;
    int64_t delay_ns;
    char answer[ANSWER_MAX];
    size_t answer_len;
    uint64_t count, again;
    int64_t first_ns, last_ns;
    uint32_t *took_us; /* one sample per request */
    size_t samples, room;
    unsigned char *seen; /* one bit per number; the pages appear as they are used */
    struct conn *waiting, **waiting_end;
};

struct conn {
    int kind, fd;
    struct system *system;
    struct conn *next; /* that waits for its answer, or that is read slowly */
    int64_t due_ns;
    bool waits, closed;
    size_t have;
    char buf[READ_MAX];
};

struct record {
    uint64_t port_seq; /* port in the upper 16 bits */
    int64_t sent_ns, arrived_ns;
};

static int epoll_fd, kind_stdin = KIND_STDIN;
static struct system systems[PORTS_MAX];
static size_t system_count;
static struct conn *slow; /* all that are read one byte a second */
static FILE *log_file;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void watch(int fd, void *what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        fail("epoll");
}

static void sample(struct system *s, int64_t took_ns)
{
    if (s->samples == s->room) {
        if (s->room == SAMPLES_MAX)
            return;
        s->room = s->room > 0 ? s->room * 2 : 65536;
        s->took_us = realloc(s->took_us, s->room * sizeof *s->took_us);
        if (s->took_us == NULL)
            fail("memory");
    }
    s->took_us[s->samples++] = (uint32_t)(took_ns / 1000);
}

static uint64_t number_after(const char *body, size_t len, const char *name)
{
    const char *p = memmem(body, len, name, strlen(name));

    return p != NULL ? strtoull(p + strlen(name), NULL, 10) : 0;
}

/* The body is followed by readable bytes that end its last number: conn->buf has a NUL there. */
static void take(struct system *s, const char *body, size_t len, int64_t now)
{
    size_t head = len < 80 ? len : 80;
    uint64_t seq = number_after(body, head, "\"seq\":\"");
    int64_t sent = (int64_t)number_after(body, head, "\"sent\":\"");

    s->count++;
    s->first_ns = s->first_ns > 0 ? s->first_ns : now;
    s->last_ns = now;
    if (sent == 0)
        return;
    sample(s, now - sent);
    if (seq < SEQ_MAX) {
        unsigned char bit = (unsigned char)(1U << (seq & 7));
        s->again += (s->seen[seq >> 3] & bit) != 0;
        s->seen[seq >> 3] |= bit;
    }
    if (log_file != NULL) {
        struct record r = { (uint64_t)s->port << 48 | seq, sent, now };
        if (fwrite(&r, sizeof r, 1, log_file) != 1)
            fail("log");
    }
}

static void conn_close(struct conn *c)
{
    (void)close(c->fd);
    c->fd = -1;
    if (c->waits || c->system->mood == MOOD_SLOW)
        c->closed = true; /* freed by who walks its list */
    else
        free(c);
}

static bool conn_answer(struct conn *c)
{
    if (send(c->fd, c->system->answer, c->system->answer_len, MSG_NOSIGNAL) < 0) {
        conn_close(c);
        return false;
    }
    return true;
}

/* One whole request from the front of the buffer, if there is one: its size, else 0. */
static size_t request_size(struct conn *c, const char **ret_body, size_t *ret_len)
{
    char *end = memmem(c->buf, c->have, "\r\n\r\n", 4);

    if (end == NULL)
        return 0;
    *end = '\0';
    const char *length = strcasestr(c->buf, "\r\ncontent-length:");
    *ret_len = length != NULL ? strtoul(length + 17, NULL, 10) : 0;
    *end = '\r';
    size_t head = (size_t)(end + 4 - c->buf);
    *ret_body = c->buf + head;
    return c->have < head + *ret_len ? 0 : head + *ret_len;
}

static void conn_parse(struct conn *c, int64_t now)
{
    const char *body;
    size_t len, size;

    while (!c->waits && (size = request_size(c, &body, &len)) > 0) {
        struct system *s = c->system;
        take(s, body, len, now);
        c->have -= size;
        memmove(c->buf, c->buf + size, c->have + 1);
        if (s->mood == MOOD_DELAY) {
            c->waits = true;
            c->due_ns = now + s->delay_ns;
            c->next = NULL;
            *s->waiting_end = c;
            s->waiting_end = &c->next;
        } else if (!conn_answer(c)) {
            return;
        }
    }
    if (c->have == READ_MAX - 1 && !c->waits)
        conn_close(c); /* larger than anything the benchmark sends */
}

static void conn_read(struct conn *c, size_t most)
{
    size_t room = READ_MAX - 1 - c->have;
    ssize_t n = recv(c->fd, c->buf + c->have, most < room ? most : room, 0);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        conn_close(c);
        return;
    }
    c->have += (size_t)n;
    c->buf[c->have] = '\0';
    conn_parse(c, wire_now_ns());
}

static void accept_all(struct system *s)
{
    int fd, one = 1;

    while ((fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct conn *c = malloc(sizeof *c);
        if (c == NULL)
            fail("memory");
        c->kind = KIND_CONN;
        c->fd = fd;
        c->system = s;
        c->waits = c->closed = false;
        c->have = 0;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (s->mood == MOOD_SLOW) {
            c->next = slow;
            slow = c;
        } else {
            watch(fd, c);
        }
    }
}

static void read_slow_ones(void)
{
    for (struct conn **at = &slow; *at != NULL;) {
        struct conn *c = *at;
        conn_read(c, 1);
        if (c->closed) {
            *at = c->next;
            free(c);
        } else {
            at = &c->next;
        }
    }
}

/* Gives whether somebody still waits. */
static bool answer_due(struct system *s, int64_t now)
{
    while (s->waiting != NULL && s->waiting->due_ns <= now) {
        struct conn *c = s->waiting;
        s->waiting = c->next;
        if (s->waiting == NULL)
            s->waiting_end = &s->waiting;
        c->waits = false;
        if (c->closed)
            free(c);
        else if (conn_answer(c))
            conn_parse(c, now);
    }
    return s->waiting != NULL;
}

/* ---- what it tells ---- */

static void reset(void)
{
    for (size_t i = 0; i < system_count; i++) {
        struct system *s = &systems[i];
        s->count = s->again = 0;
        s->first_ns = s->last_ns = 0;
        s->samples = 0;
        free(s->seen);
        s->seen = calloc(SEQ_MAX / 8, 1);
        if (s->seen == NULL)
            fail("memory");
    }
    if (log_file != NULL && (fflush(log_file) != 0 || ftruncate(fileno(log_file), 0) < 0))
        fail("log");
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static double percentile_ms(const struct system *s, double share)
{
    size_t at = (size_t)((double)s->samples * share);

    return s->samples > 0 ? s->took_us[at < s->samples ? at : s->samples - 1] / 1000.0 : 0;
}

static void stats(void)
{
    for (size_t i = 0; i < system_count; i++) {
        struct system *s = &systems[i];
        if (s->samples > 0)
            qsort(s->took_us, s->samples, sizeof *s->took_us, by_size);
        (void)printf("%s{\"port\":%d,\"count\":%llu,\"again\":%llu,\"first_ns\":%lld,"
                     "\"last_ns\":%lld,\"p50_ms\":%.3f,\"p99_ms\":%.3f}",
                     i > 0 ? "," : "[", s->port, (unsigned long long)s->count,
                     (unsigned long long)s->again, (long long)s->first_ns, (long long)s->last_ns,
                     percentile_ms(s, 0.5), percentile_ms(s, 0.99));
    }
    (void)puts("]");
    if (log_file != NULL && fflush(log_file) != 0)
        fail("log");
}

static void obey(const char *word)
{
    uint64_t count = 0;

    if (strcmp(word, "stats") == 0) {
        stats();
    } else if (strcmp(word, "reset") == 0) {
        reset();
        (void)puts("ok");
    } else if (strcmp(word, "count") == 0) {
        for (size_t i = 0; i < system_count; i++)
            count += systems[i].count;
        (void)printf("%llu\n", (unsigned long long)count);
    } else {
        (void)puts("?");
    }
    (void)fflush(stdout);
}

static void read_commands(void)
{
    static char line[256];
    static size_t have;
    ssize_t n = read(STDIN_FILENO, line + have, sizeof line - 1 - have);

    if (n <= 0)
        exit(0);
    have += (size_t)n;
    line[have] = '\0';
    for (char *end; (end = strchr(line, '\n')) != NULL;) {
        *end = '\0';
        obey(line);
        have -= (size_t)(end + 1 - line);
        memmove(line, end + 1, have + 1);
    }
}

/* ---- start ---- */

static void mood_read(struct system *s, const char *text)
{
    long status = 200;

    if (strcmp(text, "dead") == 0) {
        s->mood = MOOD_DEAD;
    } else if (strcmp(text, "slow") == 0) {
        s->mood = MOOD_SLOW;
    } else if (strncmp(text, "delay:", 6) == 0) {
        s->mood = MOOD_DELAY;
        s->delay_ns = wire_number("delay", text + 6, 0, 3600000) * MS;
    } else if (strncmp(text, "status:", 7) == 0) {
        status = wire_number("status", text + 7, 200, 599);
    } else if (*text != '\0') {
        (void)fprintf(stderr, "receiver: unknown mood \"%s\"\n", text);
        exit(2);
    }
    s->answer_len = (size_t)snprintf(s->answer, sizeof s->answer,
                                     "HTTP/1.1 %ld So\r\nContent-Length: 0\r\n\r\n", status);
}

/* A dead system keeps its port, without listening. */
static void system_open(const char *word)
{
    struct system *s = &systems[system_count++];
    const char *mood = strchr(word, '=');
    char digits[8] = "";
    int one = 1;

    (void)snprintf(digits, sizeof digits, "%.*s", mood != NULL ? (int)(mood - word) : 7, word);
    s->kind = KIND_LISTEN;
    s->port = (int)wire_number("port", digits, 1, 65535);
    s->waiting_end = &s->waiting;
    mood_read(s, mood != NULL ? mood + 1 : "");
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)s->port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(s->fd, (struct sockaddr *)&at, sizeof at) < 0)
        fail(word);
    if (s->mood == MOOD_DEAD)
        return;
    if (listen(s->fd, 1024) < 0)
        fail(word);
    watch(s->fd, s);
}

static void run(void)
{
    static struct epoll_event events[EVENTS];
    int64_t tick = wire_now_ns();
    bool waiting = false;

    for (;;) {
        int n = epoll_wait(epoll_fd, events, EVENTS, waiting ? 1 : slow != NULL ? 100 : -1);
        for (int i = 0; i < n; i++) {
            const int *kind = events[i].data.ptr;
            if (*kind == KIND_CONN)
                conn_read(events[i].data.ptr, READ_MAX);
            else if (*kind == KIND_LISTEN)
                accept_all(events[i].data.ptr);
            else
                read_commands();
        }
        waiting = false;
        for (size_t i = 0; i < system_count; i++)
            if (systems[i].waiting != NULL)
                waiting = answer_due(&systems[i], wire_now_ns()) || waiting;
        if (slow != NULL && wire_now_ns() - tick >= 1000 * MS) {
            tick = wire_now_ns();
            read_slow_ones();
        }
    }
}

int main(int argc, char **argv)
{
    int first = 1;

    (void)signal(SIGPIPE, SIG_IGN);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (argc > 2 && strcmp(argv[1], "--log") == 0) {
        log_file = fopen(argv[2], "we");
        if (log_file == NULL)
            fail(argv[2]);
        first = 3;
    }
    if (first >= argc || argc - first > PORTS_MAX) {
        (void)fprintf(stderr, "usage: receiver [--log FILE] PORT[=MOOD]...\n");
        return 2;
    }
    for (int i = first; i < argc; i++)
        system_open(argv[i]);
    reset();
    watch(STDIN_FILENO, &kind_stdin);
    (void)puts("ready");
    (void)fflush(stdout);
    run();
}
