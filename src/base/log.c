#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/metrics.h"
#include "base/require.h"
#include "base/wait.h"

enum { RING = 4 << 20, LINE = 16 << 10, FIELD = 2048, WAIT_MS = 1000, GATHER_US = 5000 };

static const char *const level_names[] = { "debug", "info", "warn", "error" };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t filled, ended;
    char *ring; /* filled by callers, while `writing` is written; then swapped */
    char *writing;
    size_t used;
    bool running; /* the log thread runs, and takes all lines */
    bool stopping, sleeping, gathering;
    int fd;
} self = { .mutex = PTHREAD_MUTEX_INITIALIZER,
           .filled = PTHREAD_COND_INITIALIZER,
           .ended = PTHREAD_COND_INITIALIZER,
           .fd = 2 };

static _Atomic int level_now = LOG_INFO;
static _Atomic uint64_t dropped;

bool log_wants(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&level_now, memory_order_relaxed);
}

void log_set_level(enum log_level level)
{
    atomic_store(&level_now, (int)level);
}

uint64_t log_dropped(void)
{
    return atomic_load(&dropped);
}

static int64_t read_dropped(void *arg)
{
    (void)arg;
    return (int64_t)log_dropped();
}

static struct metric dropped_metric = { .name = "waybill_log_dropped_total",
                                        .help = "Log lines that could not be written.",
                                        .type = METRIC_COUNTER,
                                        .read = read_dropped };

static uint64_t lines_in(struct str text)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    return n;
}

/* The log cannot log its own failures: lines that cannot be written are counted.
 * *torn: the last line was written in part. */
static bool log_write_out(int fd, struct str text, bool *torn)
{
    while (text.len > 0) {
        ssize_t n = write(fd, text.ptr, text.len);
        struct pollfd wait = { .fd = fd, .events = POLLOUT };

        if (n < 0 && (errno == EINTR || (errno == EAGAIN && poll(&wait, 1, WAIT_MS) > 0)))
            continue;
        if (n <= 0) {
            atomic_fetch_add(&dropped, lines_in(text));
            return false;
        }
        *torn = text.ptr[n - 1] != '\n';
        text = str_from(text, (size_t)n);
    }
    return true;
}

/* State of the log thread.  Lines that it logs itself are written at once. */
static _Thread_local struct {
    bool is_log, torn, ok;
} own;
static uint64_t told; /* how many of the dropped lines the log has reported */

static void log_write_batch(struct str text)
{
    if (own.torn && !log_write_out(self.fd, STR("\n"), &own.torn)) {
        atomic_fetch_add(&dropped, lines_in(text) - 1); /* the failed "\n" was counted as a line */
        return;
    }
    own.ok = log_write_out(self.fd, text, &own.torn);
    uint64_t now = atomic_load(&dropped);

    if (!own.ok || now == told)
        return;
    log_event(LOG_WARN, "log.drop", kv_int("count", now - told));
    if (own.ok)
        told = now;
}

/* With the mutex held: waits for the first line, then a moment for others, so that
 * under load one write takes many lines. */
static void wait_for_lines(void)
{
    while (self.used == 0 && !self.stopping) {
        self.sleeping = true;
        (void)pthread_cond_wait(&self.filled, &self.mutex);
    }
    self.sleeping = false;
    self.gathering = true;
    int64_t until_us = clock_mono_us() + GATHER_US;

    while (!self.stopping && self.used < RING / 2 &&
           wait_until(&self.filled, &self.mutex, until_us)) {
    }
    self.gathering = false;
}

static void *log_main(void *arg)
{
    (void)arg;
    own.is_log = true;
    (void)pthread_mutex_lock(&self.mutex);
    for (;;) {
        wait_for_lines();
        if (self.used == 0)
            break;
        char *full = self.ring;
        size_t n = self.used;

        self.ring = self.writing;
        self.writing = full;
        self.used = 0;
        (void)pthread_mutex_unlock(&self.mutex);
        log_write_batch((struct str){ full, n });
        (void)pthread_mutex_lock(&self.mutex);
    }
    free(self.ring);
    free(self.writing);
    self.running = false;
    (void)pthread_cond_broadcast(&self.ended);
    (void)pthread_mutex_unlock(&self.mutex);
    return NULL;
}

void log_start(int fd)
{
    sigset_t all, was;
    pthread_attr_t attr;
    pthread_t thread;

    (void)pthread_mutex_lock(&self.mutex);
    require(!self.running);
    self.fd = fd;
    self.ring = xmalloc(RING);
    self.writing = xmalloc(RING);
    self.used = 0;
    self.stopping = false;
    (void)sigfillset(&all); /* SIGPIPE must not end the process */
    (void)pthread_sigmask(SIG_SETMASK, &all, &was);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    self.running = pthread_create(&thread, &attr, log_main, NULL) == 0;
    (void)pthread_attr_destroy(&attr);
    (void)pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (!self.running) { /* without the thread lines are written directly */
        free(self.ring);
        free(self.writing);
    }
    (void)pthread_mutex_unlock(&self.mutex);
    metrics_register(&dropped_metric);
}

void log_stop(void)
{
    int64_t until_us = clock_mono_us() + CLOCK_S;

    (void)pthread_mutex_lock(&self.mutex);
    self.stopping = true;
    (void)pthread_cond_signal(&self.filled);
    while (self.running && /* after the time-out the disk hangs: give up */
           wait_until(&self.ended, &self.mutex, until_us)) {
    }
    (void)pthread_mutex_unlock(&self.mutex);
}

static void log_put_line(struct str line)
{
    bool torn;

    if (own.is_log) {
        own.ok = log_write_out(self.fd, line, &own.torn);
        return;
    }
    (void)pthread_mutex_lock(&self.mutex);
    if (!self.running) {
        int fd = self.fd;

        (void)pthread_mutex_unlock(&self.mutex);
        (void)log_write_out(fd, line, &torn);
        return;
    }
    if (line.len > RING - self.used) {
        atomic_fetch_add(&dropped, 1);
    } else {
        memcpy(self.ring + self.used, line.ptr, line.len);
        self.used += line.len;
    }
    bool wake = self.sleeping || (self.gathering && self.used >= RING / 2);

    self.sleeping = false;
    (void)pthread_mutex_unlock(&self.mutex);
    if (wake)
        (void)pthread_cond_signal(&self.filled);
}

/* At most FIELD bytes, cut at a character boundary. */
static struct str cut(struct str s)
{
    size_t n = FIELD;

    if (s.len <= FIELD)
        return s;
    while (n > FIELD - 3 && ((unsigned char)s.ptr[n] & 0xc0) == 0x80)
        n--;
    return (struct str){ s.ptr, n };
}

static void log_put_field(struct json_out *j, const struct log_field *f)
{
    json_key(j, f->key);
    switch (f->type) {
    case LOG_T_INT:
        json_int(j, f->i);
        break;
    case LOG_T_BOOL:
        json_bool(j, f->i != 0);
        break;
    case LOG_T_STR:
    case LOG_T_END:
        json_str(j, cut(f->s));
        break;
    }
}

/* The line is built in thread-local memory, without an allocation; a field that does
 * not fit into LINE is removed again. */
void log_emit(enum log_level level, const char *name, const struct log_field *fields)
{
    static _Thread_local char room[LINE + FIELD * 6 + 256]; /* an escaped byte takes at most six */
    struct buf line = { .ptr = room, .size = sizeof room, .cap = sizeof room - 1 };
    struct json_out j = { .to = &line };
    char when[CLOCK_TEXT];

    json_open(&j, '{');
    json_key(&j, "time");
    json_z(&j, clock_utc_text(clock_wall_us(), when));
    json_key(&j, "level");
    json_z(&j, level_names[level]);
    json_key(&j, "event");
    json_z(&j, name);
    for (const struct log_field *f = fields; f->type != LOG_T_END; f++) {
        size_t before = line.len;

        log_put_field(&j, f);
        if (line.len + sizeof "}" > LINE)
            line.len = before;
    }
    json_close(&j, '}');
    buf_putc(&line, '\n');
    log_put_line(buf_view(&line));
}
