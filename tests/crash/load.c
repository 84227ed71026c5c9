/* load.c - a sender that never gives up, and writes down what it was promised.
 *
 * Keeps N connections busy with POST requests, each with a fresh Idempotency-Key and a body
 * nobody else sends: a line of JSON that says from whom, to whom and of which kind it is, and
 * has tildes in its text, for which the node under test is told to write TILDE_BECOMES.  What
 * receivers must get is known from that, and noted.  What was not answered when a connection ends
 * is sent again with the same key, as a careful sender would; 429, 503 and 507 are tried again
 * after a pause.  Now and then an answered request is repeated on purpose: its answer must name the
 * same document. The journal (rig/wire.h) is what the checker compares the store with.
 *
 * With --inbox it also puts files into a folder, some a second: written under a name that nobody
 * takes, synced, renamed, synced.
 *
 * Commands on stdin, one per line: "pause" finishes what is open and answers "paused" on stdout,
 * "run" goes on and answers "running"; "quit" or end of file ends the program.
 *
 * Usage: load --port N --path /in/GATEWAY --journal FILE --seed N [--connections N] [--rate N]
 *             [--large N] [--medium N] [--replay N]       (these three: per million requests)
 *             [--inbox FOLDER] [--drops N]                (files a second)
 * The key for "Authorization: Bearer" comes from $WAYBILL_KEY.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

enum {
    BLOCK_BYTES = 4 << 20, /* random text that every body is cut from */
    BODY_HEAD = 160,       /* at most: the fields before the text */
    BODY_TEXT_LEAST = 32,
    CHUNK_BYTES = 65536,
    CONNECTIONS_MAX = 512,
    ANSWERED_KEPT = 4096, /* answered requests that may be repeated */
    HEAD_MAX = 1024,
    DROP_TEXT_MOST = 1800,
};

#define TILDE_BECOMES "(tilde)"
#define BODY_END      "\"}\n"

#define MS            INT64_C(1000000)
#define RETRY_NS      (10 * MS)    /* before a new connection */
#define BUSY_RETRY_NS (50 * MS)    /* after 429, 503, 507 */
#define ANSWER_MAX_NS (20000 * MS) /* then the connection counts as dead */

/* What is sent, in parts of a thousand; the configuration has a road for each but the last. */
static const struct kind {
    const char *name;
    unsigned share;
    bool replaced; /* its road has the step */
} kinds[] = {
    { "order", 450, true },  /* to a receiver and into a folder */
    { "note", 250, true },   /* to a receiver that fails now and then */
    { "line", 100, false },  /* added to a file */
    { "plain", 80, false },  /* to a receiver, as it came */
    { "once", 50, false },   /* to a receiver that fails, and minds a second time */
    { "asked", 50, false },  /* to one that fails, and can be asked what it has */
    { "refused", 15, true }, /* into a folder, and to a receiver that never takes it */
    { "unknown", 5, false }, /* no road */
};

struct request {
    char key[48];
    char sha256[65];
    const struct kind *kind;
    size_t size, text, at; /* of the body; of its text, and where in the block that starts */
    bool chunked, again;
};

enum conn_state { CONN_DOWN, CONN_CONNECTING, CONN_IDLE, CONN_SENDING, CONN_WAITING };

struct conn {
    enum conn_state state;
    int fd;
    bool open; /* the request is not answered yet */
    struct request request;
    char *out; /* the request as bytes */
    size_t out_len, out_at, out_size;
    char in[WIRE_IN_MAX];
    size_t in_len;
    int64_t not_before_ns, sent_ns;
};

static struct {
    int port, journal, epoll;
    long connections, rate, large, medium, replay, drops;
    const char *path, *key, *inbox;
    uint64_t seed, chance, made, answered_count;
    char *block, *body, *becomes;
    struct conn *conns;
    struct request answered[ANSWERED_KEPT];
    double tokens;
    int64_t tokens_ns, drop_ns;
    bool running, quit, pausing;
} load = {
    .connections = 16, .medium = 20000, .large = 1000, .replay = 5000, .drops = 20, .running = true
};

static uint64_t random_below(uint64_t n)
{
    return wire_random(&load.chance) % n;
}

static bool chance(long per_million)
{
    return (long)random_below(1000000) < per_million;
}

/* Sizes of the real world: mostly about 1 KiB, some 100 KiB, a few that take the large path. */
static size_t pick_size(void)
{
    if (chance(load.large))
        return (2u << 20) + random_below(1u << 20);
    if (chance(load.medium))
        return 90000 + random_below(20000);
    return BODY_TEXT_LEAST + random_below(1800);
}

static const struct kind *pick_kind(void)
{
    uint64_t n = random_below(1000);
    const struct kind *kind = kinds;

    for (; n >= kind->share; kind++)
        n -= kind->share;
    return kind;
}

/* Fills load.body; the key stands first, so that no two bodies are equal. */
static void body_fill(struct request *request)
{
    size_t head = (size_t)snprintf(load.body, BODY_HEAD,
                                   "{\"key\":\"%s\",\"from\":\"acme\",\"to\":\"shop\",\"kind\":"
                                   "\"%s\",\"text\":\"",
                                   request->key, request->kind->name);

    memcpy(load.body + head, load.block + request->at, request->text);
    memcpy(load.body + head + request->text, BODY_END, strlen(BODY_END));
    request->size = head + request->text + strlen(BODY_END);
}

/* The digest of what receivers get for load.body. */
static void digest_received(const struct request *request, char ret_hex[65])
{
    const char *from = load.body, *end = load.body + request->size, *tilde;
    char *to = load.becomes;

    if (!request->kind->replaced) {
        memcpy(ret_hex, request->sha256, sizeof request->sha256);
        return;
    }
    while ((tilde = memchr(from, '~', (size_t)(end - from))) != NULL) {
        memcpy(to, from, (size_t)(tilde - from));
        to += tilde - from;
        memcpy(to, TILDE_BECOMES, strlen(TILDE_BECOMES));
        to += strlen(TILDE_BECOMES);
        from = tilde + 1;
    }
    memcpy(to, from, (size_t)(end - from));
    to += end - from;
    wire_sha256(load.becomes, (size_t)(to - load.becomes), ret_hex);
}

/* A new one: its body stands in load.body, and it is noted. */
static void request_note(struct request *request, size_t text)
{
    char received[65];

    *request = (struct request){ .text = text, .kind = pick_kind() };
    (void)snprintf(request->key, sizeof request->key, "k%016llx-%llu",
                   (unsigned long long)load.seed, (unsigned long long)load.made++);
    request->at = random_below(BLOCK_BYTES - request->text);
    body_fill(request);
    wire_sha256(load.body, request->size, request->sha256);
    digest_received(request, received);
    wire_journal(load.journal, "E %s %s %s\n", request->key, request->kind->name, received);
    wire_journal(load.journal, "S %s %s %zu %lld\n", request->key, request->sha256, request->size,
                 (long long)wire_now_ns());
}

static void request_make(struct request *request)
{
    if (load.answered_count > 0 && chance(load.replay)) {
        uint64_t n = load.answered_count < ANSWERED_KEPT ? load.answered_count : ANSWERED_KEPT;
        *request = load.answered[random_below(n)];
        request->again = true;
        body_fill(request);
        wire_journal(load.journal, "P %s %lld\n", request->key, (long long)wire_now_ns());
        return;
    }
    request_note(request, pick_size());
    request->chunked = request->size > CHUNK_BYTES && chance(500000);
}

static void out_append(struct conn *conn, const void *bytes, size_t len)
{
    if (conn->out_len + len > conn->out_size) {
        conn->out_size = conn->out_len + len + HEAD_MAX;
        conn->out = realloc(conn->out, conn->out_size);
        if (conn->out == NULL)
            abort();
    }
    memcpy(conn->out + conn->out_len, bytes, len);
    conn->out_len += len;
}

/* Writes the request whose body stands in load.body. */
static void request_write(struct conn *conn)
{
    const struct request *request = &conn->request;
    char head[HEAD_MAX], length[64];

    (void)snprintf(length, sizeof length, "Content-Length: %zu", request->size);
    int n = snprintf(head, sizeof head,
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
                     "Content-Type: application/json\r\nIdempotency-Key: %s\r\n%s\r\n\r\n",
                     load.path, load.port, load.key, request->key,
                     request->chunked ? "Transfer-Encoding: chunked" : length);
    conn->out_len = conn->out_at = 0;
    out_append(conn, head, (size_t)n);
    if (!request->chunked) {
        out_append(conn, load.body, request->size);
        return;
    }
    for (size_t done = 0; done < request->size;) {
        size_t len = request->size - done < CHUNK_BYTES ? request->size - done : CHUNK_BYTES;
        n = snprintf(head, sizeof head, "%zx\r\n", len);
        out_append(conn, head, (size_t)n);
        out_append(conn, load.body + done, len);
        out_append(conn, "\r\n", 2);
        done += len;
    }
    out_append(conn, "0\r\n\r\n", 5);
}

static void watch(struct conn *conn, int op, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.ptr = conn };

    if (epoll_ctl(load.epoll, op, conn->fd, &event) < 0)
        abort();
}

static void conn_down(struct conn *conn, int64_t now)
{
    if (conn->open && (conn->state == CONN_SENDING || conn->state == CONN_WAITING))
        wire_journal(load.journal, "D %s %lld\n", conn->request.key, (long long)now);
    if (conn->fd >= 0)
        (void)close(conn->fd);
    conn->fd = -1;
    conn->state = CONN_DOWN;
    conn->in_len = 0;
    conn->not_before_ns = now + RETRY_NS;
}

static void conn_connect(struct conn *conn, int64_t now)
{
    conn->fd = wire_connect(load.port);
    if (conn->fd < 0) {
        conn->not_before_ns = now + RETRY_NS;
        return;
    }
    conn->state = CONN_CONNECTING;
    conn->sent_ns = now;
    watch(conn, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
}

static void conn_write(struct conn *conn, int64_t now)
{
    while (conn->out_at < conn->out_len) {
        ssize_t n =
            send(conn->fd, conn->out + conn->out_at, conn->out_len - conn->out_at, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            watch(conn, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            return;
        }
        if (n < 0) {
            conn_down(conn, now);
            return;
        }
        conn->out_at += (size_t)n;
    }
    conn->state = CONN_WAITING;
    watch(conn, EPOLL_CTL_MOD, EPOLLIN);
}

static void conn_send(struct conn *conn, int64_t now)
{
    if (!conn->open) {
        request_make(&conn->request);
        request_write(conn);
        conn->open = true;
    }
    conn->out_at = 0;
    conn->sent_ns = now;
    conn->state = CONN_SENDING;
    conn_write(conn, now);
}

static void conn_answered(struct conn *conn, const struct wire_answer *answer, int64_t now)
{
    bool half_sent = conn->state == CONN_SENDING;
    int status = answer->status;

    wire_journal(load.journal, "A %s %d %s %lld\n", conn->request.key, status, answer->id,
                 (long long)now);
    conn->state = CONN_IDLE;
    conn->in_len = 0;
    conn->not_before_ns = 0;
    if (status == 429 || status == 503 || status == 507) {
        conn->not_before_ns = now + BUSY_RETRY_NS;
    } else {
        conn->open = false;
        if (status == 202 && !conn->request.again)
            load.answered[load.answered_count++ % ANSWERED_KEPT] = conn->request;
    }
    if (half_sent || answer->close)
        conn_down(conn, now);
}

static void conn_read(struct conn *conn, int64_t now)
{
    struct wire_answer answer;
    ssize_t n = recv(conn->fd, conn->in + conn->in_len, sizeof conn->in - conn->in_len, 0);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        conn_down(conn, now);
        return;
    }
    conn->in_len += (size_t)n;
    int got = wire_parse(conn->in, conn->in_len, &answer);
    if (got < 0 || (got > 0 && conn->state != CONN_SENDING && conn->state != CONN_WAITING))
        conn_down(conn, now);
    else if (got > 0)
        conn_answered(conn, &answer, wire_now_ns());
}

static void conn_event(struct conn *conn, uint32_t events, int64_t now)
{
    if (conn->state == CONN_CONNECTING && (events & EPOLLOUT) && !(events & EPOLLERR)) {
        conn->state = CONN_IDLE;
        watch(conn, EPOLL_CTL_MOD, EPOLLIN);
        return;
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        conn_read(conn, now);
        if (conn->state != CONN_SENDING)
            return;
    }
    if (conn->state == CONN_SENDING && (events & EPOLLOUT))
        conn_write(conn, now);
}

/* May one more new request begin?  With a rate, at most a tenth of a second is saved up. */
static bool token_take(void)
{
    if (load.rate == 0)
        return true;
    if (load.tokens < 1)
        return false;
    load.tokens -= 1;
    return true;
}

static void token_refill(int64_t now)
{
    double most = (double)load.rate / 10 + 1;

    load.tokens += (double)(now - load.tokens_ns) * (double)load.rate / 1e9;
    load.tokens = load.tokens > most ? most : load.tokens;
    load.tokens_ns = now;
}

/* Moves every connection on that waits for time rather than for bytes; true while some request
 * is open. */
static bool drive(int64_t now)
{
    bool open = false;

    token_refill(now);
    for (long i = 0; i < load.connections; i++) {
        struct conn *conn = &load.conns[i];
        bool busy = conn->state == CONN_SENDING || conn->state == CONN_WAITING;

        if ((busy || conn->state == CONN_CONNECTING) && now - conn->sent_ns > ANSWER_MAX_NS)
            conn_down(conn, now);
        if (conn->state == CONN_DOWN && now >= conn->not_before_ns)
            conn_connect(conn, now);
        if (conn->state == CONN_IDLE && now >= conn->not_before_ns &&
            (conn->open || (load.running && token_take())))
            conn_send(conn, now);
        open = open || conn->open;
    }
    return open;
}

/* ---- the inbox ---- */

static bool sync_path(const char *path, const void *bytes, size_t len)
{
    int flags = bytes != NULL ? O_WRONLY | O_CREAT | O_EXCL : O_RDONLY | O_DIRECTORY;
    int fd = open(path, flags | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && (bytes == NULL || write(fd, bytes, len) == (ssize_t)len) && fsync(fd) == 0;

    if (fd >= 0)
        (void)close(fd);
    return ok;
}

/* The folder may be away, or go away in the middle: then nothing was promised.  Nothing of it
 * stays open. */
static void drop(int64_t now)
{
    char part[PATH_MAX], name[PATH_MAX];
    struct request request;

    if (load.inbox == NULL || load.drops == 0 || now < load.drop_ns)
        return;
    load.drop_ns = now + 1000 * MS / load.drops;
    request_note(&request, BODY_TEXT_LEAST + random_below(DROP_TEXT_MOST));
    (void)snprintf(part, sizeof part, "%s/.%s.part", load.inbox, request.key);
    (void)snprintf(name, sizeof name, "%s/%s.json", load.inbox, request.key);
    if (sync_path(part, load.body, request.size) && rename(part, name) == 0 &&
        sync_path(load.inbox, NULL, 0))
        wire_journal(load.journal, "I %s %lld\n", request.key, (long long)wire_now_ns());
}

static void say(const char *word)
{
    (void)printf("%s\n", word);
    (void)fflush(stdout);
}

/* Commands are short and come one at a time, each waiting for its answer. */
static void command_read(void)
{
    char line[64];
    ssize_t n = read(STDIN_FILENO, line, sizeof line - 1);

    if (n <= 0) {
        load.quit = true;
        return;
    }
    line[n] = '\0';
    if (strcmp(line, "pause\n") == 0) {
        load.running = false;
        load.pausing = true;
    } else if (strcmp(line, "run\n") == 0) {
        load.running = true;
        load.pausing = false;
        say("running");
    } else {
        load.quit = true;
    }
}

static void options_read(int argc, char **argv)
{
    static const struct option options[] = {
        { "port", 1, NULL, 'p' },   { "path", 1, NULL, 'u' },  { "journal", 1, NULL, 'j' },
        { "seed", 1, NULL, 's' },   { "rate", 1, NULL, 'r' },  { "connections", 1, NULL, 'c' },
        { "medium", 1, NULL, 'm' }, { "large", 1, NULL, 'l' }, { "replay", 1, NULL, 'a' },
        { "inbox", 1, NULL, 'i' },  { "drops", 1, NULL, 'd' }, { 0 },
    };
    const char *journal = NULL;
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (c) {
        case 'p':
            load.port = (int)wire_number("--port", optarg, 1, 65535);
            break;
        case 'u':
            load.path = optarg;
            break;
        case 'j':
            journal = optarg;
            break;
        case 's':
            load.seed = (uint64_t)wire_number("--seed", optarg, 1, INT32_MAX);
            break;
        case 'r':
            load.rate = wire_number("--rate", optarg, 0, 1000000);
            break;
        case 'c':
            load.connections = wire_number(argv[0], optarg, 1, CONNECTIONS_MAX);
            break;
        case 'm':
            load.medium = wire_number("--medium", optarg, 0, 1000000);
            break;
        case 'l':
            load.large = wire_number("--large", optarg, 0, 1000000);
            break;
        case 'a':
            load.replay = wire_number("--replay", optarg, 0, 1000000);
            break;
        case 'i':
            load.inbox = optarg;
            break;
        case 'd':
            load.drops = wire_number("--drops", optarg, 0, 1000);
            break;
        default:
            exit(2);
        }
    }
    load.key = getenv("WAYBILL_KEY");
    if (load.port == 0 || load.path == NULL || journal == NULL || load.seed == 0 ||
        load.key == NULL || strlen(load.path) + strlen(load.key) > HEAD_MAX / 2) {
        (void)fprintf(stderr, "load: --port, --path, --journal, --seed and $WAYBILL_KEY needed\n");
        exit(2);
    }
    load.journal = wire_journal_open(journal);
}

static void setup(void)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ~";

    load.chance = load.seed * UINT64_C(0x9e3779b97f4a7c15);
    load.block = malloc(BLOCK_BYTES);
    load.body = malloc(BLOCK_BYTES + BODY_HEAD);
    load.becomes = malloc((BLOCK_BYTES + BODY_HEAD) * strlen(TILDE_BECOMES));
    load.conns = calloc((size_t)load.connections, sizeof *load.conns);
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (load.block == NULL || load.body == NULL || load.becomes == NULL || load.conns == NULL ||
        load.epoll < 0)
        abort();
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        load.block[i] = letters[wire_random(&load.chance) >> 58];
    for (long i = 0; i < load.connections; i++)
        load.conns[i].fd = -1;
    load.tokens_ns = wire_now_ns();
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
    if (epoll_ctl(load.epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event) < 0)
        abort();
}

int main(int argc, char **argv)
{
    struct epoll_event events[64];

    (void)signal(SIGPIPE, SIG_IGN);
    options_read(argc, argv);
    setup();
    while (!load.quit) {
        bool open = drive(wire_now_ns());
        if (load.running)
            drop(wire_now_ns());
        if (load.pausing && !open) {
            load.pausing = false;
            say("paused");
        }
        int n = epoll_wait(load.epoll, events, 64, load.running || open ? 2 : 100);
        int64_t now = wire_now_ns();
        for (int i = 0; i < n; i++) {
            struct conn *conn = events[i].data.ptr;
            if (conn == NULL)
                command_read();
            else if (conn->fd >= 0)
                conn_event(conn, events[i].events, now);
        }
    }
    return 0;
}
