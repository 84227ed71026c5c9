/* raw_pipe.c - the least that a durable road can cost: the reference of the e2e benchmark.
 *
 * HTTP in, appended and synced, 202, HTTP out over kept connections, outcome appended and synced.
 * One epoll thread does everything on the network, with parsers that know nothing but
 * Content-Length; one writer thread takes whatever waits, bodies and outcomes alike, writes it with
 * one pwrite and syncs once.  There is no store, no extraction, no route, no retry and no id: what
 * the product does beyond this is what the benchmark shows.  The file is 256 MiB, written full once
 * and then reused, so that a sync never has to record a new length.
 *
 * With more than one RECEIVER the digit behind "to":"s in the body picks one.  A receiver that
 * refuses connections at the start gets nothing; its documents stay in memory.
 *
 * Usage: raw_pipe PORT FILE RECEIVER_PORT...       prints "ready" when it listens
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BODY_MAX = 2048, READ_MAX = 8192, EVENTS = 512, MIB = 1 << 20 };
enum { FILE_MIB = 256, BATCH_BYTES = 8 * MIB, LANES_MAX = 10, OUT_CONNECTIONS = 64 };
enum { KIND_IN, KIND_OUT };

/* One document; as an outcome it is written once more, as 16 bytes. */
struct item {
    struct item *next;
    struct conn *from;
    int64_t id, outcome; /* 0: not sent yet, else the status's first digit */
    size_t len;
    char body[BODY_MAX];
};

struct list {
    struct item *first, **end;
};

struct conn {
    int kind, fd, in_flight, lane;
    struct item *item; /* out: on its way */
    struct conn *next_idle;
    size_t have;
    char buf[READ_MAX];
};

struct lane {
    int port;
    struct list pending;
    struct conn *idle;
};

static const char answer[] = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";

/* The two lists keep apart from each other, and from what only one thread reads, by a cache line.
 */
#define LINE __attribute__((aligned(128)))

static pthread_mutex_t queue_lock LINE = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static struct list queue = { NULL, &queue.first };
static int writer_waits;

static pthread_mutex_t done_lock LINE = PTHREAD_MUTEX_INITIALIZER;
static struct list done = { NULL, &done.first };

static struct list round_list LINE = { NULL, &round_list.first }; /* handed over once per round */
static struct lane lanes[LANES_MAX];
static int lane_count, epoll_fd, listen_fd, done_fd, file_fd;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void push(struct list *list, struct item *item)
{
    item->next = NULL;
    *list->end = item;
    list->end = &item->next;
}

static struct item *take_all(struct list *list)
{
    struct item *first = list->first;

    list->first = NULL;
    list->end = &list->first;
    return first;
}

static struct item *pop(struct list *list)
{
    struct item *item = list->first;

    list->first = item->next;
    if (list->first == NULL)
        list->end = &list->first;
    return item;
}

static void join(struct list *to, struct list *more)
{
    *to->end = more->first;
    to->end = more->end;
    (void)take_all(more);
}

/* ---- the writer ---- */

/* As many as fit into one write; the rest stays for the next. */
static struct item *batch_take(char *bytes, size_t *ret_len)
{
    struct list batch = { NULL, &batch.first };
    size_t len = 0;

    pthread_mutex_lock(&queue_lock);
    while (queue.first == NULL) {
        writer_waits = 1;
        pthread_cond_wait(&queue_filled, &queue_lock);
    }
    writer_waits = 0;
    struct item *all = take_all(&queue);
    pthread_mutex_unlock(&queue_lock);
    while (all != NULL && len + BODY_MAX <= BATCH_BYTES) {
        struct item *item = all;
        all = item->next;
        size_t n = item->outcome == 0 ? item->len : 2 * sizeof item->id;
        memcpy(bytes + len, item->outcome == 0 ? item->body : (const char *)&item->id, n);
        len += n;
        push(&batch, item);
    }
    if (all != NULL) {
        struct item **end = &all;
        while (*end != NULL)
            end = &(*end)->next;
        pthread_mutex_lock(&queue_lock);
        *end = queue.first;
        queue.end = queue.first == NULL ? end : queue.end;
        queue.first = all;
        pthread_mutex_unlock(&queue_lock);
    }
    *ret_len = len;
    return batch.first;
}

/* Documents go back to be answered and sent, outcomes are over. */
static void hand_back(struct item *batch, int64_t *id)
{
    struct list back = { NULL, &back.first };
    uint64_t one = 1;

    while (batch != NULL) {
        struct item *item = batch;
        batch = item->next;
        if (item->outcome != 0) {
            free(item);
            continue;
        }
        item->id = ++*id;
        push(&back, item);
    }
    if (back.first == NULL)
        return;
    pthread_mutex_lock(&done_lock);
    join(&done, &back);
    pthread_mutex_unlock(&done_lock);
    if (write(done_fd, &one, sizeof one) < 0)
        fail("eventfd");
}

static void *writer(void *unused)
{
    char *bytes = malloc(BATCH_BYTES);
    int64_t id = 0;
    off_t at = 0;
    size_t len;

    (void)unused;
    if (bytes == NULL)
        fail("memory");
    for (;;) {
        struct item *batch = batch_take(bytes, &len);
        if (at + (off_t)len > (off_t)FILE_MIB * MIB)
            at = 0;
        if (pwrite(file_fd, bytes, len, at) != (ssize_t)len || fdatasync(file_fd) < 0)
            fail("write");
        at += (off_t)len;
        hand_back(batch, &id);
    }
    return NULL;
}

static void hand_over(void)
{
    if (round_list.first == NULL)
        return;
    pthread_mutex_lock(&queue_lock);
    join(&queue, &round_list);
    int wake = writer_waits;
    pthread_mutex_unlock(&queue_lock);
    if (wake)
        pthread_cond_signal(&queue_filled);
}

/* ---- out ---- */

static void send_out(struct conn *out, struct item *item)
{
    char head[300];
    int n = snprintf(head, sizeof head,
                     "POST /in HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                     "Waybill-Document: %lld\r\nContent-Length: %zu\r\n\r\n",
                     lanes[out->lane].port, (long long)item->id, item->len);
    struct iovec parts[2] = { { head, (size_t)n }, { item->body, item->len } };

    out->item = item;
    if (writev(out->fd, parts, 2) != (ssize_t)(parts[0].iov_len + item->len))
        fail("receiver");
}

static void pump(struct lane *lane)
{
    while (lane->pending.first != NULL && lane->idle != NULL) {
        struct conn *out = lane->idle;
        lane->idle = out->next_idle;
        send_out(out, pop(&lane->pending));
    }
}

static void read_answer(struct conn *out)
{
    ssize_t n = read(out->fd, out->buf + out->have, sizeof out->buf - out->have - 1);

    if (n <= 0)
        fail("receiver");
    out->have += (size_t)n;
    if (memmem(out->buf, out->have, "\r\n\r\n", 4) == NULL)
        return;
    out->item->outcome = out->buf[9] - '0';
    push(&round_list, out->item);
    out->have = 0;
    out->next_idle = lanes[out->lane].idle;
    lanes[out->lane].idle = out;
    pump(&lanes[out->lane]);
}

static int lane_of(const struct item *item)
{
    static const char to[] = "\"to\":\"s";
    size_t head = item->len < 128 ? item->len : 128;

    if (lane_count == 1)
        return 0;
    const char *p = memmem(item->body, head, to, sizeof to - 1);
    return p != NULL ? (p[sizeof to - 1] - '0') % lane_count : 0;
}

/* ---- in ---- */

/* One request at a time per connection; the rest of the buffer waits for its answer. */
static void parse(struct conn *in)
{
    if (in->in_flight)
        return;
    char *end = memmem(in->buf, in->have, "\r\n\r\n", 4);
    if (end == NULL)
        return;
    *end = '\0';
    const char *length = strcasestr(in->buf, "\r\ncontent-length:");
    size_t len = length != NULL ? strtoul(length + 17, NULL, 10) : 0;
    *end = '\r';
    size_t head = (size_t)(end + 4 - in->buf);
    if (len > BODY_MAX)
        fail("body over 2 KiB");
    if (in->have < head + len)
        return;
    struct item *item = malloc(sizeof *item);
    if (item == NULL)
        fail("memory");
    item->from = in;
    item->outcome = 0;
    item->len = len;
    memcpy(item->body, in->buf + head, len);
    in->have -= head + len;
    if (in->have > 0)
        memmove(in->buf, in->buf + head + len, in->have);
    in->in_flight = 1;
    push(&round_list, item);
}

static void watch(int fd, void *what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        fail("epoll");
}

static void accept_all(void)
{
    int fd;

    while ((fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct conn *in = calloc(1, sizeof *in);
        if (in == NULL)
            fail("memory");
        in->kind = KIND_IN;
        in->fd = fd;
        watch(fd, in);
    }
}

static void answer_all(void)
{
    uint64_t count;

    if (read(done_fd, &count, sizeof count) < 0)
        return;
    pthread_mutex_lock(&done_lock);
    struct item *list = take_all(&done);
    pthread_mutex_unlock(&done_lock);
    while (list != NULL) {
        struct item *item = list;
        struct conn *in = item->from;
        list = item->next;
        in->in_flight = 0;
        if (write(in->fd, answer, sizeof answer - 1) < 0 && errno != EPIPE && errno != ECONNRESET)
            fail("write");
        if (in->have > 0)
            parse(in);
        push(&lanes[lane_of(item)].pending, item);
    }
    for (int i = 0; i < lane_count; i++)
        pump(&lanes[i]);
}

static void read_request(struct conn *in)
{
    ssize_t n = read(in->fd, in->buf + in->have, sizeof in->buf - in->have - 1);

    if (n > 0) {
        in->have += (size_t)n;
        parse(in);
    } else if (in->in_flight) { /* its answer is still to come: let it stay, unwatched */
        epoll_ctl(epoll_fd, EPOLL_CTL_DEL, in->fd, NULL);
    } else {
        close(in->fd);
        free(in);
    }
}

/* ---- start ---- */

static void file_open(const char *path)
{
    char *zeros = calloc(1, MIB);

    file_fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file_fd < 0 || zeros == NULL)
        fail(path);
    if (lseek(file_fd, 0, SEEK_END) < (off_t)FILE_MIB * MIB)
        for (off_t i = 0; i < FILE_MIB; i++)
            if (pwrite(file_fd, zeros, MIB, i * MIB) != MIB)
                fail(path);
    if (fsync(file_fd) < 0)
        fail(path);
    free(zeros);
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void listen_open(int port)
{
    struct sockaddr_in at = loopback(port);
    int one = 1;

    listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listen_fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(listen_fd, 1024) < 0)
        fail("listen");
}

static void lane_open(const char *port)
{
    int number = lane_count++;
    struct lane *lane = &lanes[number];

    lane->port = (int)strtol(port, NULL, 10);
    lane->pending.end = &lane->pending.first;
    for (int i = 0; i < OUT_CONNECTIONS; i++) {
        struct sockaddr_in to = loopback(lane->port);
        struct conn *out = calloc(1, sizeof *out);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (out == NULL || fd < 0)
            fail("receiver");
        if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
            close(fd);
            free(out);
            return;
        }
        fcntl(fd, F_SETFL, O_NONBLOCK);
        out->kind = KIND_OUT;
        out->lane = number;
        out->fd = fd;
        out->next_idle = lane->idle;
        lane->idle = out;
        watch(fd, out);
    }
}

static void run(void)
{
    static struct epoll_event events[EVENTS];

    for (;;) {
        int n = epoll_wait(epoll_fd, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            struct conn *conn = events[i].data.ptr;
            if (events[i].data.ptr == &listen_fd)
                accept_all();
            else if (events[i].data.ptr == &done_fd)
                answer_all();
            else if (conn->kind == KIND_OUT)
                read_answer(conn);
            else
                read_request(conn);
        }
        hand_over();
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc < 4 || argc > 3 + LANES_MAX) {
        fprintf(stderr, "usage: raw_pipe PORT FILE RECEIVER_PORT...\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    file_open(argv[2]);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    for (int i = 3; i < argc; i++)
        lane_open(argv[i]);
    listen_open((int)strtol(argv[1], NULL, 10));
    watch(listen_fd, &listen_fd);
    watch(done_fd, &done_fd);
    if (pthread_create(&thread, NULL, writer, NULL) != 0)
        fail("thread");
    puts("ready");
    fflush(stdout);
    run();
}
