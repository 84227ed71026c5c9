/* raw_accept.c - the least that a durable accept can cost: the reference of the benchmark.
 *
 * One epoll thread reads POST requests with a parser that knows nothing but Content-Length; one
 * writer thread takes all bodies that wait, writes them with one pwritev, syncs once and hands
 * them back to be answered with 202.  There is no store, no key check, no log and no id: what the
 * product does beyond this is what the benchmark shows.  The file is 256 MiB, written full once
 * and then reused, so that a sync never has to record a new length.
 *
 * Usage: raw_accept PORT FILE       prints "ready" when it listens
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

enum { BODY_MAX = 2048, READ_MAX = 8192, VECTORS = 512, EVENTS = 512, MIB = 1 << 20 };
enum { FILE_MIB = 256, WRAP_MIB = 240 };

struct item {
    struct item *next;
    struct conn *conn;
    size_t len;
    char body[BODY_MAX];
};

struct conn {
    int fd, in_flight;
    size_t have;
    struct item item;
    char buf[READ_MAX];
};

static const char answer[] = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";

/* The two lists keep apart from each other, and from what only one thread reads, by a cache line.
 */
#define LINE __attribute__((aligned(128)))

static pthread_mutex_t queue_lock LINE = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static struct item *queue, **queue_end = &queue;
static int writer_waits;

static pthread_mutex_t done_lock LINE = PTHREAD_MUTEX_INITIALIZER;
static struct item *done;

static int epoll_fd LINE, listen_fd, done_fd, file_fd;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void submit(struct item *item)
{
    item->next = NULL;
    pthread_mutex_lock(&queue_lock);
    *queue_end = item;
    queue_end = &item->next;
    int wake = writer_waits;
    pthread_mutex_unlock(&queue_lock);
    if (wake)
        pthread_cond_signal(&queue_filled);
}

static struct item *take_all(void)
{
    pthread_mutex_lock(&queue_lock);
    while (queue == NULL) {
        writer_waits = 1;
        pthread_cond_wait(&queue_filled, &queue_lock);
    }
    writer_waits = 0;
    struct item *list = queue;
    queue = NULL;
    queue_end = &queue;
    pthread_mutex_unlock(&queue_lock);
    return list;
}

static void hand_back(struct item *list)
{
    uint64_t one = 1;

    while (list != NULL) {
        struct item *next = list->next;
        pthread_mutex_lock(&done_lock);
        list->next = done;
        done = list;
        pthread_mutex_unlock(&done_lock);
        list = next;
    }
    if (write(done_fd, &one, sizeof one) < 0)
        fail("eventfd");
}

static void *writer(void *unused)
{
    struct iovec vector[VECTORS];
    off_t at = 0;

    (void)unused;
    for (;;) {
        struct item *list = take_all();
        int n = 0;
        for (struct item *item = list; item != NULL; item = item->next) {
            vector[n].iov_base = item->body;
            vector[n].iov_len = item->len;
            if (++n < VECTORS && item->next != NULL)
                continue;
            ssize_t wrote = pwritev(file_fd, vector, n, at);
            if (wrote < 0)
                fail("pwritev");
            at += wrote;
            n = 0;
        }
        if (fdatasync(file_fd) < 0)
            fail("fdatasync");
        if (at > (off_t)WRAP_MIB * MIB)
            at = 0;
        hand_back(list);
    }
    return NULL;
}

/* One request at a time per connection; the rest of the buffer waits for its answer. */
static void parse(struct conn *conn)
{
    if (conn->in_flight)
        return;
    char *end = memmem(conn->buf, conn->have, "\r\n\r\n", 4);
    if (end == NULL)
        return;
    *end = '\0';
    const char *length = strcasestr(conn->buf, "\r\ncontent-length:");
    size_t len = length != NULL ? strtoul(length + 17, NULL, 10) : 0;
    *end = '\r';
    size_t head = (size_t)(end + 4 - conn->buf);
    if (len > BODY_MAX)
        fail("body over 2 KiB");
    if (conn->have < head + len)
        return;
    conn->item.conn = conn;
    conn->item.len = len;
    memcpy(conn->item.body, conn->buf + head, len);
    conn->have -= head + len;
    if (conn->have > 0)
        memmove(conn->buf, conn->buf + head + len, conn->have);
    conn->in_flight = 1;
    submit(&conn->item);
}

static void accept_all(void)
{
    int fd, one = 1;

    while ((fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct conn *conn = calloc(1, sizeof *conn);
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (conn == NULL || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
            fail("accept");
        conn->fd = fd;
    }
}

static void answer_all(void)
{
    uint64_t count;

    if (read(done_fd, &count, sizeof count) < 0)
        return;
    pthread_mutex_lock(&done_lock);
    struct item *list = done;
    done = NULL;
    pthread_mutex_unlock(&done_lock);
    while (list != NULL) {
        struct item *next = list->next;
        struct conn *conn = list->conn;
        conn->in_flight = 0;
        if (write(conn->fd, answer, sizeof answer - 1) < 0 && errno != EPIPE && errno != ECONNRESET)
            fail("write");
        if (conn->have > 0)
            parse(conn);
        list = next;
    }
}

static void read_some(struct conn *conn)
{
    ssize_t n = read(conn->fd, conn->buf + conn->have, sizeof conn->buf - conn->have - 1);

    if (n > 0) {
        conn->have += (size_t)n;
        parse(conn);
    } else if (conn->in_flight) { /* its answer is still to come: let it stay, unwatched */
        epoll_ctl(epoll_fd, EPOLL_CTL_DEL, conn->fd, NULL);
    } else {
        close(conn->fd);
        free(conn);
    }
}

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

static void listen_open(int port)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int one = 1;

    listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listen_fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(listen_fd, 1024) < 0)
        fail("listen");
}

int main(int argc, char **argv)
{
    struct epoll_event event = { .events = EPOLLIN }, events[EVENTS];
    pthread_t thread;

    if (argc != 3) {
        fprintf(stderr, "usage: raw_accept PORT FILE\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    file_open(argv[2]);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    done_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    listen_open((int)strtol(argv[1], NULL, 10));
    event.data.ptr = &listen_fd;
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listen_fd, &event);
    event.data.ptr = &done_fd;
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, done_fd, &event);
    if (pthread_create(&thread, NULL, writer, NULL) != 0)
        fail("thread");
    puts("ready");
    fflush(stdout);
    for (;;) {
        int n = epoll_wait(epoll_fd, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == &listen_fd)
                accept_all();
            else if (events[i].data.ptr == &done_fd)
                answer_all();
            else
                read_some(events[i].data.ptr);
        }
    }
}
